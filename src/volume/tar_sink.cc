#include "volume/tar_sink.h"

#include <unistd.h>

#include <cerrno>

#include "async/unique_fd.h"
#include "env/clock.h"
#include "env/files.h"
#include "volume/snapshot.h"
#include "volume/target_tree.h"

namespace runnel::volume {
namespace {

Result<void> write_to(int stream, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(stream, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno_error("write the tar", errno);
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

Node text_node(const std::string& text) {
  Node node;
  node.size = text.size();
  return node;
}

// Its hash is not that of its bytes.
Error no_dump(const std::string& path, const LinkedObject& object) {
  return Error(Errc::kUnsupported,
               "'" + path + "' is an object of " + object.store + ", which a dump cannot have")
      .with_value(path)
      .with_hint(
          "copy it into another volume and dump that one, or make a tar: runnel volume export");
}

}  // namespace

// Where the tar goes.
struct TarSink::Target {
  static Result<std::unique_ptr<Target>> open(const std::string& path) {
    auto target = std::make_unique<Target>();
    if (path != "-") TRY(target->open_place(path));
    target->tar = TRY(TarWriter::open([to = target.get()](std::string_view bytes) {
      return to->file ? to->file->append(bytes) : write_to(to->stream, bytes);
    }));
    return target;
  }

  // What a link leads to is replaced, and a device, a pipe or a socket is written to.
  Result<void> open_place(const std::string& path) {
    const std::string place = env::real_path(path).value_or(path);
    const Result<env::FileInfo> there = env::file_info(place);
    if (there.ok() && there->kind == env::FileKind::kOther) {
      special = TRY(open_device(place));
      stream = special.get();
      return {};
    }
    const auto [folder, name] = FolderRoot::split(place);
    FolderRoot root = TRY(FolderRoot::open(folder, false));
    file.emplace(TRY(TargetFile::begin(root, name)));
    return {};
  }

  // Only a whole file gets the name.
  Result<void> finish() {
    TRY(tar->finish());
    if (!file) return {};
    Node node;
    node.changed = env::real_clock().wall().millis() / 1'000;
    return file->finish(node);
  }

  std::optional<TargetFile> file;
  async::UniqueFd special;
  int stream = STDOUT_FILENO;  // Without a file.
  std::unique_ptr<TarWriter> tar;
};

TarSink::TarSink(std::unique_ptr<Target> target, std::unique_ptr<async::Worker> worker)
    : target_(std::move(target)), worker_(std::move(worker)) {}
TarSink::~TarSink() = default;

Result<std::unique_ptr<TarSink>> TarSink::make(async::EventLoop& loop, const std::string& path) {
  auto target = TRY(Target::open(path));
  auto worker = TRY(async::Worker::create(loop, {.name = "volume-tar"}));
  return std::unique_ptr<TarSink>(new TarSink(std::move(target), std::move(worker)));
}

Result<std::unique_ptr<TarSink>> TarSink::open(async::EventLoop& loop, const std::string& path,
                                               std::string only) {
  auto sink = TRY(make(loop, path));
  sink->only_ = std::move(only);
  return sink;
}

Result<std::unique_ptr<TarSink>> TarSink::open_dump(async::EventLoop& loop, const std::string& path,
                                                    DumpHeader header) {
  auto sink = TRY(make(loop, path));
  sink->only_ = kDumpTree;
  sink->dump_ = std::move(header);
  return sink;
}

Async<void> TarSink::take(std::vector<SinkEntry> entries) {
  co_return co_await worker_->run([&]() -> Result<void> {
    for (const SinkEntry& entry : entries) TRY(write(entry));
    return {};
  });
}

Async<void> TarSink::begin(std::string path, Node node) {
  co_return co_await worker_->run([&] { return write_head(path, node); });
}

Async<void> TarSink::append(std::vector<std::string> chunks) {
  co_return co_await worker_->run([&]() -> Result<void> {
    for (const std::string& chunk : chunks) TRY(target_->tar->append(chunk));
    return {};
  });
}

Async<void> TarSink::finish() {
  co_return co_await worker_->run([this] { return write_end(); });
}

// --- On the thread.

Result<void> TarSink::write_head(const std::string& path, const Node& node) {
  if (dump_ && is_linked(node.extents)) return no_dump(path, *node.extents.front().linked);
  if (dump_ && !is_begun_) {
    is_begun_ = true;
    TRY(write_text(kDumpBegin, encode_dump_header(*dump_)));
  }
  if (dump_ && !path.empty()) digest_.add(TRY(path_parts(path)), node);
  const std::string root = dump_ ? std::string(kDumpTree) + "/" : "";
  Node head = node;
  if (!dump_) head.mode = given_mode(node);  // Of a dump the sum has it as it is.
  return target_->tar->begin(path.empty() ? only_ : root + path, head);
}

Result<void> TarSink::write(const SinkEntry& entry) {
  // What is in the root stands at the top of a tar.
  const bool is_root = entry.path.empty() && entry.node.kind == NodeKind::kFolder;
  if (is_root && !dump_) return {};
  TRY(write_head(entry.path, entry.node));
  for (const std::string& chunk : entry.chunks) TRY(target_->tar->append(chunk));
  return {};
}

Result<void> TarSink::write_text(std::string_view path, const std::string& text) {
  TRY(target_->tar->begin(std::string(path), text_node(text)));
  return target_->tar->append(text);
}

Result<void> TarSink::write_end() {
  if (dump_) TRY(write_text(kDumpEnd, digest_.end()));
  return target_->finish();
}

}  // namespace runnel::volume
