#include "base/check.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace runnel {
namespace {

CheckHandler check_handler = nullptr;

}  // namespace

void set_check_handler(CheckHandler handler) { check_handler = handler; }

void check_failed(const char* condition, std::string_view message, std::source_location where) {
  const std::string text = "internal error: " + std::string(message) + "\n  CHECK(" + condition +
                           ") at " + where.file_name() + ":" + std::to_string(where.line());
  if (check_handler != nullptr) check_handler(text.c_str());
  std::fprintf(stderr, "runnel: %s\n", text.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace runnel
