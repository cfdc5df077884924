#pragma once

#include <cstddef>

namespace runnel::cli {

struct Screen {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// That of the terminal behind a file descriptor; one of the usual size where there is none.
Screen screen_of(int file);

// Whether both file descriptors are one terminal.
bool is_one_terminal(int one, int other);

// Whether somebody else reads what the file descriptor is given, and may hand it on.
bool is_pipe(int file);

}  // namespace runnel::cli
