#include "volume/folder_difference.h"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "async/worker.h"
#include "env/files.h"
#include "volume/target_tree.h"

namespace runnel::volume {
namespace {

constexpr std::size_t kNamesCompared = 4'096;

using LocalNames = std::map<std::string, env::FileKind>;
using NamedNodes = std::vector<std::pair<std::string, Node>>;

Result<LocalNames> local_names(const std::string& folder) {
  LocalNames names;
  const Result<std::vector<std::string>> all = env::list_directory(folder);
  if (!all.ok() && all.error().code == Errc::kNotFound) return names;
  for (const std::string& name : TRY(Result<std::vector<std::string>>(all))) {
    const Result<env::FileInfo> info = env::file_info(folder + "/" + name);
    if (info.ok()) names.emplace(name, info->kind);
  }
  return names;
}

class Comparison {
 public:
  Comparison(Snapshot& snapshot, std::string target, async::Worker& worker, async::StopToken stop)
      : snapshot_(snapshot), target_(std::move(target)), worker_(worker), stop_(std::move(stop)) {}

  // Whether this machine has the folder: not a link to one, or something else.
  enum class Here : std::uint8_t { kYes, kNo };

  // `path`: of the folder below the target, with '/' at its end, or empty.
  Async<void> compare(Inode folder, std::string path, Here here) {
    CO_TRY(walked_.enter(folder));
    const std::string place = target_ + "/" + path;
    LocalNames local;
    if (here == Here::kYes) {
      local = CO_TRY(co_await worker_.run([&place] { return local_names(place); }));
    }
    for (std::string after;;) {
      CO_TRY(stop_.check());
      const auto entries = CO_TRY(co_await snapshot_.list(folder, after, kNamesCompared));
      if (entries.empty()) break;
      after = entries.back().name;
      CO_TRY(co_await compare_page(entries, path, local));
    }
    for (const auto& [name, kind] : local) done_.surplus.push_back(path + name);
    co_return {};
  }
  FolderDifference take() { return std::move(done_); }

 private:
  Async<void> compare_page(const std::vector<Snapshot::Entry>& entries, const std::string& path,
                           LocalNames& local) {
    NamedNodes files;
    for (const Snapshot::Entry& entry : entries) {
      const bool is_folder = entry.what.kind == NodeKind::kFolder;
      Here here = Here::kNo;
      if (const auto found = local.find(entry.name); found != local.end()) {
        const bool is_here = found->second == env::FileKind::kDirectory;
        if (is_here) here = Here::kYes;
        if (is_here != is_folder) done_.surplus.push_back(path + entry.name);
        local.erase(found);
      }
      if (is_folder) {
        CO_TRY(co_await compare(entry.what.inode, path + entry.name + "/", here));
      } else {
        files.emplace_back(path + entry.name, CO_TRY(co_await snapshot_.node(entry.what.inode)));
      }
    }
    co_return co_await worker_.run([this, &files] { look_at(files); });
  }

  void look_at(NamedNodes& files) {
    Result<FolderRoot> root = FolderRoot::open(target_, false);
    for (auto& [path, node] : files) {
      if (root.ok() && is_as_node(*root, path, node)) continue;
      const Result<env::FileInfo> there = env::file_info(target_ + "/" + path);
      const bool is_other = there.ok() && there->kind != env::FileKind::kDirectory;
      if (is_other) done_.replaced.push_back(path);
      done_.missing.push_back(std::move(path));
    }
  }

  Snapshot& snapshot_;
  WalkedFolders walked_;
  const std::string target_;
  async::Worker& worker_;
  const async::StopToken stop_;
  FolderDifference done_;
};

}  // namespace

Async<FolderDifference> compare_folder(async::EventLoop& loop, Snapshot& snapshot, Inode folder,
                                       std::string target, async::StopToken stop) {
  const auto worker = CO_TRY(async::Worker::create(loop, {.name = "volume-compare"}));
  Comparison comparison(snapshot, std::move(target), *worker, std::move(stop));
  const Result<void> done = co_await comparison.compare(folder, "", Comparison::Here::kYes);
  MUST(co_await worker->stop());
  CO_TRY(Result<void>(done));
  co_return comparison.take();
}

}  // namespace runnel::volume
