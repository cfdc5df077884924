#include "cli/screen.h"

#include <sys/ioctl.h>

namespace runnel::cli {

Screen screen_of(int file) {
  winsize size{};
  Screen screen;
  if (::ioctl(file, TIOCGWINSZ, &size) != 0) return screen;
  if (size.ws_col > 1) screen.columns = size.ws_col;
  if (size.ws_row > 3) screen.rows = size.ws_row;
  return screen;
}

}  // namespace runnel::cli
