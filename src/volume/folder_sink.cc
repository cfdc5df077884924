#include "volume/folder_sink.h"

#include <algorithm>

#include "base/check.h"
#include "env/files.h"
#include "volume/head.h"

namespace runnel::volume {
namespace {

Result<void> write_file(FolderRoot& root, const std::string& below, const SinkEntry& file) {
  std::string bytes;
  bytes.reserve(file.node.size);
  for (const std::string& chunk : file.chunks) bytes += chunk;
  return make_file(root, below, file.node, bytes);
}

// Whoever names one means that it is written to.
Result<void> refuse_device(const std::string& target) {
  const Result<env::FileInfo> there = env::file_info(target);
  if (!there.ok() || there->kind != env::FileKind::kOther) return {};
  return Error(Errc::kConflict,
               target + " is a device, a pipe or a socket, which a file would replace")
      .with_value(target)
      .with_hint("name a file or folder; to print a file: runnel volume cat");
}

// A folder may be the store of volumes.
Result<void> look_for_head(const std::string& path) {
  if (!is_named_head(path)) return {};
  const Result<std::string> there = env::read_file(path, Bytes::count(Head::kReadMax));
  if (!there.ok()) return {};
  return check_no_head(*there, path);
}

Result<void> append_all(TargetFile& file, const std::vector<std::string>& chunks) {
  for (const std::string& chunk : chunks) TRY(file.append(chunk));
  return {};
}

}  // namespace

Result<std::unique_ptr<FolderSink>> FolderSink::open(async::EventLoop& loop, std::string target,
                                                     Same same) {
  TRY(refuse_device(target));
  auto worker = TRY(async::Worker::create(loop, {.name = "volume-get"}));
  return std::unique_ptr<FolderSink>(new FolderSink(std::move(target), same, std::move(worker)));
}

// What is named may be a link to a folder, and a folder that is missing above it is not made here.
Result<FolderRoot*> FolderSink::root() {
  if (!root_) root_.emplace(TRY(FolderRoot::open(FolderRoot::split(target_).first, false)));
  return &*root_;
}

std::string FolderSink::below(const std::string& path) const {
  const std::string name = FolderRoot::split(target_).second;
  if (name.empty() || path.empty()) return name + path;
  return name + "/" + path;
}

Async<bool> FolderSink::has(std::string path, Node node) {
  if (same_ == Same::kNever) co_return false;
  co_return co_await worker_->run([this, &path, &node]() -> Result<bool> {
    return is_as_node(*TRY(root()), below(path), node);
  });
}

Async<void> FolderSink::take(std::vector<SinkEntry> entries) {
  co_return co_await worker_->run([&]() -> Result<void> {
    for (const SinkEntry& entry : entries) TRY(write(entry));
    return {};
  });
}

Result<void> FolderSink::write(const SinkEntry& entry) {
  FolderRoot& in = *TRY(root());
  const std::string path = below(entry.path);
  if (entry.node.kind != NodeKind::kFolder) TRY(look_for_head(in.place(path)));
  switch (entry.node.kind) {
    case NodeKind::kFile: return write_file(in, path, entry);
    case NodeKind::kLink: return make_link(in, path, entry.node);
    case NodeKind::kFolder: break;
  }
  const bool is_made = TRY(make_folder(in, path));
  if (is_made || !entry.path.empty()) folders_.emplace_back(path, entry.node);
  return {};
}

Async<void> FolderSink::begin(std::string path, Node node) {
  long_node_ = std::move(node);
  long_.emplace(CO_TRY(co_await worker_->run([this, &path]() -> Result<TargetFile> {
    FolderRoot& in = *TRY(root());
    TRY(look_for_head(in.place(below(path))));
    return TargetFile::begin(in, below(path));
  })));
  co_return {};
}

Async<void> FolderSink::append(std::vector<std::string> chunks) {
  CHECK(long_.has_value(), "a part of a file comes after its begin()");
  co_return co_await worker_->run([this, &chunks] { return append_all(*long_, chunks); });
}

Async<void> FolderSink::end() {
  CHECK(long_.has_value(), "a file ends after its begin()");
  CO_TRY(co_await worker_->run([this] { return long_->finish(long_node_); }));
  long_.reset();
  co_return {};
}

Async<bool> FolderSink::drop() {
  long_.reset();
  co_return true;
}

Async<void> FolderSink::finish() {
  // From the deepest up: what is made in a folder changes its time.
  std::reverse(folders_.begin(), folders_.end());
  co_return co_await worker_->run([this]() -> Result<void> {
    for (const auto& [folder, node] : folders_) TRY(set_attributes(*TRY(root()), folder, node));
    return {};
  });
}

}  // namespace runnel::volume
