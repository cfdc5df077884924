#include "object/probe.h"

#include <utility>

namespace runnel::object {
namespace {

Error ignores(const std::string& store, const std::string& what) {
  return Error(Errc::kUnsupported,
               store + " " + what + ", so two writers would overwrite each other")
      .with_value(store)
      .with_hint(
          "use a store with conditional writes: S3, MinIO, Ceph from version 18 on, a folder");
}

Async<void> probe(ObjectStore& store, const std::string& key, async::StopToken stop) {
  const std::string etag =
      CO_TRY(co_await store.put(key, make_body("1"), Condition::absent(), stop));
  const Result<std::string> again =
      co_await store.put(key, make_body("2"), Condition::absent(), stop);
  if (again.ok()) co_return ignores(store.name(), "ignores If-None-Match");
  if (again.error().code != Errc::kPrecondition) co_return again.error();
  const Result<std::string> other =
      co_await store.put(key, make_body("3"), Condition::matches("\"0\""), stop);
  if (other.ok()) co_return ignores(store.name(), "ignores If-Match");
  if (other.error().code != Errc::kPrecondition) co_return other.error();
  const Result<std::string> right =
      co_await store.put(key, make_body("4"), Condition::matches(etag), stop);
  if (!right.ok() && right.error().code == Errc::kPrecondition) {
    co_return ignores(store.name(), "refuses the ETag that it gave");
  }
  CO_TRY(Result<std::string>(right));
  co_return {};
}

}  // namespace

Async<void> probe_conditions(ObjectStore& store, std::string key, async::StopToken stop) {
  const Result<void> kept = co_await probe(store, key, stop);
  const Result<void> removed = co_await store.remove(key, stop);
  CO_TRY(Result<void>(kept));
  co_return removed;
}

}  // namespace runnel::object
