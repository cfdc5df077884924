#pragma once

#include <cstddef>

namespace runnel::cli {

struct Screen {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// That of the terminal behind a file descriptor; one of the usual size where there is none.
Screen screen_of(int file);

}  // namespace runnel::cli
