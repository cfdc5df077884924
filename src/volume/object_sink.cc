#include "volume/object_sink.h"

#include "async/together.h"
#include "volume/head.h"

namespace runnel::volume {

Async<void> ObjectSink::look_for_head(std::string path) {
  if (!is_named_head(path)) co_return {};
  const Result<object::Object> there = co_await store_.get(path, Head::kReadMax, stop_);
  if (there.ok()) co_return check_no_head(there->bytes, path);
  const bool is_none =
      there.error().code == Errc::kNotFound || there.error().code == Errc::kInvalid;
  co_return is_none ? Result<void>() : there.error();
}

Async<void> ObjectSink::put(std::string path, std::string bytes) {
  if (path.empty()) path = only_;
  CO_TRY(co_await look_for_head(path));
  CO_TRY(co_await store_.put(std::move(path), object::make_body(std::move(bytes)),
                             object::Condition::none(), stop_));
  co_return {};
}

Async<void> ObjectSink::take(std::vector<SinkEntry> entries) {
  std::vector<Async<void>> puts;
  for (SinkEntry& file : entries) {
    if (file.node.kind == NodeKind::kLink) {
      left_out_.push_back(file.path.empty() ? only_ : file.path);
    }
    if (file.node.kind != NodeKind::kFile) continue;
    std::string bytes;
    bytes.reserve(file.node.size);
    for (const std::string& chunk : std::exchange(file.chunks, {})) bytes += chunk;
    puts.push_back(put(std::move(file.path), std::move(bytes)));
    if (puts.size() < kPutsAtOnce) continue;
    CO_TRY(stop_.check());
    CO_TRY(co_await async::when_all(loop_, std::exchange(puts, {})));
  }
  co_return co_await async::when_all(loop_, std::move(puts));
}

Async<void> ObjectSink::begin(std::string path, Node node) {
  long_path_ = path.empty() ? only_ : path;
  if (node.size > kObjectBytesMax) {
    co_return Error(Errc::kInvalid, "'" + long_path_ + "' has " + std::to_string(node.size) +
                                        " bytes; one object of an export has at most " +
                                        std::to_string(kObjectBytesMax))
        .with_value(long_path_)
        .with_hint("export into a folder or a tar: file:///DIR, FILE.tar");
  }
  long_bytes_.reserve(node.size);
  co_return {};
}

Async<void> ObjectSink::append(std::vector<std::string> chunks) {
  for (const std::string& chunk : chunks) long_bytes_ += chunk;
  co_return {};
}

Async<void> ObjectSink::end() {
  co_return co_await put(std::move(long_path_), std::exchange(long_bytes_, {}));
}

Async<bool> ObjectSink::drop() {
  long_bytes_ = {};
  co_return true;
}

}  // namespace runnel::volume
