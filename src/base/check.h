#pragma once

#include <source_location>
#include <string_view>

namespace runnel {

// Ends the process with the place and the sentence of a broken invariant. Never returns.
[[noreturn]] void check_failed(const char* condition, std::string_view message,
                               std::source_location where = std::source_location::current());

// Called before the process ends, with the text that is printed. The simulator sets one in its
// children, so that a broken invariant is told as that of one schedule; nobody else may set it.
using CheckHandler = void (*)(const char* text);
void set_check_handler(CheckHandler handler);

}  // namespace runnel

// A fact that holds unless the code itself is wrong. Stays on in release builds; neither user input
// nor a peer's reply may reach it.
#define CHECK(condition, message)                  \
  do {                                             \
    if (!(condition)) [[unlikely]]                 \
      ::runnel::check_failed(#condition, message); \
  } while (false)
