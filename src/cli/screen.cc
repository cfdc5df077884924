#include "cli/screen.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace runnel::cli {

Screen screen_of(int file) {
  winsize size{};
  Screen screen;
  if (::ioctl(file, TIOCGWINSZ, &size) != 0) return screen;
  if (size.ws_col > 1) screen.columns = size.ws_col;
  if (size.ws_row > 3) screen.rows = size.ws_row;
  return screen;
}

bool is_one_terminal(int one, int other) {
  if (::isatty(one) != 1 || ::isatty(other) != 1) return false;
  struct stat of_one{};
  struct stat of_other{};
  if (::fstat(one, &of_one) != 0 || ::fstat(other, &of_other) != 0) return false;
  return of_one.st_rdev == of_other.st_rdev;
}

bool is_pipe(int file) {
  struct stat found{};
  return ::fstat(file, &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode));
}

}  // namespace runnel::cli
