#include "async/async.h"

#include <string>

namespace runnel::async::detail {

void escaped_exception() {
  std::string what = "an exception of unknown type escaped a coroutine";
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::exception& exception) {
    what = std::string("an exception escaped a coroutine: ") + exception.what();
  } catch (...) {
    // Foreign exceptions have no text.
  }
  check_failed("no exception leaves a coroutine", what);
}

}  // namespace runnel::async::detail
