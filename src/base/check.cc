#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace runnel {

void check_failed(const char* condition, std::string_view message, std::source_location where) {
  std::fprintf(stderr, "runnel: internal error: %.*s\n  CHECK(%s) at %s:%u\n",
               static_cast<int>(message.size()), message.data(), condition, where.file_name(),
               static_cast<unsigned>(where.line()));
  std::fflush(stderr);
  std::abort();
}

}  // namespace runnel
