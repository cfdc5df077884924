#include "async/together.h"

namespace runnel::async {

Async<void> when_all(EventLoop& loop, std::vector<Async<void>> works) {
  std::vector<std::optional<Result<void>>> results(works.size());
  Gate gate(loop);
  for (std::size_t index = 0; index < works.size(); ++index) {
    MUST(loop.spawn(gate, detail::store_result(results[index], std::move(works[index]))));
  }
  MUST(co_await gate.close());
  for (std::optional<Result<void>>& result : results) {
    CHECK(result.has_value(), "work left the gate without a result");
    CO_TRY(*std::move(result));
  }
  co_return {};
}

}  // namespace runnel::async
