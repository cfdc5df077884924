#include "env/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace runnel::env {

void open_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const bool closed = ::fcntl(number, F_GETFD) < 0 && errno == EBADF;
    // The lowest free number is this one, since those below it are open.
    if (closed) (void)::open("/dev/null", O_RDWR);
  }
}

}  // namespace runnel::env
