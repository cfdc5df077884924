#include "fuse/serve_branch.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/together.h"
#include "async/worker.h"
#include "base/check.h"
#include "env/clock.h"
#include "env/random.h"
#include "env/remove_tree.h"
#include "fuse/branch_requests.h"
#include "fuse/branch_service.h"
#include "fuse/kernel_node.h"
#include "fuse/kernel_session.h"
#include "volume/file_reader.h"
#include "writing/attempt_publishing.h"
#include "writing/branch.h"
#include "writing/branch_files.h"
#include "writing/leased_publishing.h"
#include "writing/log_folder.h"

namespace runnel::fuse {
namespace {

using volume::Volume;
using writing::Branch;
using writing::BranchBase;
using writing::BranchFiles;
using writing::BranchPublishing;
using writing::LeasedPublishing;

constexpr const char* kByHand = "main";  // Of a volume that is written to itself: no branch's name.
// So long a mount that is no more may still publish before the next one is refused.
constexpr Duration kEndsWithin = Duration::seconds(5);
constexpr Duration kLockLookEvery = Duration::millis(50);

// A version whose files are read through the mount's packs.
struct ReadVersion {
  ReadVersion(Volume& volume, const volume::Manifest& manifest, volume::PackCache& packs)
      : snapshot(volume.pages(), manifest), reader(snapshot, packs) {}

  volume::Snapshot snapshot;
  volume::FileReader reader;
};

Async<std::string> read_whole(std::shared_ptr<ReadVersion> version, volume::Inode file,
                              std::uint64_t offset, std::uint64_t length) {
  std::string bytes;
  for (const volume::HeldBytes& piece :
       CO_TRY(co_await version->reader.read(file, offset, length))) {
    bytes += piece.bytes;
  }
  co_return bytes;
}

BranchBase base_of(Volume& volume, const volume::Manifest& manifest, volume::PackCache& packs) {
  const auto version = std::make_shared<ReadVersion>(volume, manifest, packs);
  BranchBase base;
  base.version = manifest.version;
  base.snapshot = {version, &version->snapshot};
  base.read = [version](volume::Inode file, std::uint64_t offset, std::uint64_t length) {
    return read_whole(version, file, offset, length);
  };
  return base;
}

Error is_written(const Volume& volume, const std::string& log) {
  return Error(Errc::kConflict,
               "volume '" + volume.name() + "' is written to by another mount of this machine")
      .with_field("log")
      .with_value(log)
      .with_hint("write there, or take it away first: findmnt -t fuse.runnel");
}

// A branch that is served.
class Served {
 public:
  Served(async::EventLoop& loop, Volume& volume, volume::PackCache& packs, ServeOptions& options,
         Branch& branch)
      : loop_(loop),
        volume_(volume),
        packs_(packs),
        options_(options),
        branch_(branch),
        notices_(env::real_clock(), volume.name(), options.say),
        publishing_(publishing_of(options)) {}

  // Until the mount is no more; then all is published.
  Async<void> run(async::StopToken stop) {
    const auto how = options_.takes_over ? Begins::kTakingOver : Begins::kAnew;
    CO_TRY(co_await publishing_->begin(how, stop));
    CO_TRY(co_await begin_files());
    std::vector<async::Stoppable<void>> both;
    both.emplace_back([this](async::StopToken token) { return answer_all(std::move(token)); });
    both.emplace_back(
        [this](async::StopToken token) { return publishing_->run(std::move(token)); });
    auto first = CO_TRY(co_await async::race<void>(loop_, std::move(both), stop));
    CO_TRY(std::move(first.result));
    co_return check_kept();
  }
  // Whether nobody goes on with the log once run() or publish() has ended so: it was of a branch
  // alone, which has all of it, or has gone back to its base in a later term.
  bool is_log_spent(const Result<void>& done) const {
    if (options_.branch.empty()) return false;
    const bool has_lost =
        publishing_->has_lost() || (!done.ok() && done.error().code == Errc::kConflict);
    return has_lost ? options_.from_base : done.ok();
  }
  // Of a mount that is no more.
  Async<void> publish(async::StopToken stop) {
    if (options_.serving) options_.serving();
    CO_TRY(co_await publishing_->begin(Begins::kAnew, stop));
    publishing_->finish();
    CO_TRY(co_await publishing_->run(std::move(stop)));
    co_return check_kept();
  }

 private:
  using Begins = BranchPublishing::Begins;

  std::unique_ptr<BranchPublishing> publishing_of(const ServeOptions& options) {
    writing::PublishLoop::Options publishing;
    publishing.failed = [this](const Error& error) { notices_.tell(error); };
    const auto rebase = [this](const volume::Manifest& manifest) {
      if (files_) files_->rebase(base_of(volume_, manifest, packs_));
    };
    const auto lost = [this] {
      if (service_ != nullptr) service_->refuse_changes();
    };
    if (!options.branch.empty()) {
      return std::make_unique<writing::AttemptPublishing>(
          loop_, volume_, branch_,
          writing::AttemptPublishing::Options{.writing = {.name = options.branch,
                                                          .term = options.term,
                                                          .from_base = options.from_base},
                                              .publishing = std::move(publishing),
                                              .rebase = rebase,
                                              .lost = lost});
    }
    const auto recovered = [this](const std::string& version) {
      if (options_.say) options_.say("what was written and not published is " + version, false);
    };
    return std::make_unique<LeasedPublishing>(
        loop_, volume_, branch_,
        LeasedPublishing::Options{.clock = env::real_clock(),
                                  .source = options.folder,
                                  .publishing = std::move(publishing),
                                  .rebase = rebase,
                                  .lost = lost,
                                  .recovered = recovered});
  }

  // What was written to a branch that was lost is nobody's.
  Result<void> check_kept() const {
    if (options_.branch.empty() || !publishing_->has_lost()) return {};
    return Error(Errc::kConflict, "branch '" + options_.branch + "' of volume '" + volume_.name() +
                                      "' was removed, or is written in a later term, and has gone "
                                      "on without the rest of what was written here")
        .with_field("branch")
        .with_value(options_.branch);
  }

  Async<void> begin_files() {
    const volume::Snapshot base = CO_TRY(co_await publishing_->base());
    files_.emplace(branch_, base_of(volume_, base.manifest(), packs_), moment_now);
    co_return co_await add_earlier_bases();
  }

  // Of files without a name that are open, and have bytes of a version before. One that the head
  // has no more is gone.
  Async<void> add_earlier_bases() {
    std::set<std::string> versions;
    for (const auto& [inode, node] : branch_.overlay().nodes()) versions.insert(node->bytes_of);
    for (const std::string& version : versions) {
      if (volume_.head().find(version) == nullptr) continue;
      const volume::Snapshot there = CO_TRY(co_await volume_.snapshot(version));
      files_->add_earlier(base_of(volume_, there.manifest(), packs_));
    }
    co_return {};
  }

  // Ends alone where it fails: what is left to be done is to publish.
  Async<void> answer_all(async::StopToken stop) {
    CO_TRY(co_await answer(stop));
    publishing_->finish();
    async::Notifier never(loop_);
    co_return co_await never.wait(std::move(stop));
  }

  Async<void> answer(async::StopToken stop) {
    BranchService service({.loop = loop_,
                           .branch = branch_,
                           .files = *files_,
                           .notices = notices_,
                           .connection = options_.connection_number,
                           .first_handle = env::real_random().next() >> 1,
                           .room = [this](std::size_t bytes) { return publishing_->room(bytes); },
                           .log_failed = [this] { publishing_->look_at_log(); },
                           .publish = [this] { return publishing_->publish_now(); }});
    service_ = &service;
    if (publishing_->has_lost()) service.refuse_changes();
    const Result<void> served = co_await answer_by(service, std::move(stop));
    MUST(co_await service.close());
    service_ = nullptr;
    co_return served;
  }

  Async<void> answer_by(BranchService& service, async::StopToken stop) {
    const std::unique_ptr<KernelSession> session = CO_TRY(KernelSession::create(
        loop_, std::move(options_.connection), options_.first_message, handlers_of(service)));
    if (options_.takes_over) CO_TRY(session->ask_again());
    if (options_.serving) options_.serving();
    const Result<void> served = co_await session->serve(std::move(stop));
    MUST(co_await service.close());  // While the connection is open.
    co_return served;
  }

  async::EventLoop& loop_;
  Volume& volume_;
  volume::PackCache& packs_;
  ServeOptions& options_;
  Branch& branch_;
  ErrorNotices notices_;
  const std::unique_ptr<BranchPublishing> publishing_;
  std::optional<BranchFiles> files_;
  BranchService* service_ = nullptr;
};

// A mount that is no more may still publish its last bytes.
Async<std::unique_ptr<writing::LogFolder>> open_log(async::EventLoop& loop, async::Worker& worker,
                                                    std::string folder, async::StopToken stop) {
  for (Duration waited;; waited = waited + kLockLookEvery) {
    Result<std::unique_ptr<writing::LogFolder>> log =
        co_await worker.run([&folder] { return writing::LogFolder::open(folder); });
    const bool is_locked = !log.ok() && log.error().code == Errc::kConflict;
    if (!is_locked || waited >= kEndsWithin) co_return log;
    CO_TRY(co_await loop.sleep(kLockLookEvery, stop));
  }
}

std::string log_of(const ServeOptions& options) {
  return options.branch.empty() ? kByHand : log_of_branch(options.branch, options.term);
}

std::string log_folder_of(const Volume& volume, const ServeOptions& options) {
  CHECK(!options.logs.empty(), "a mount is to be written to without a log");
  return options.logs + "/" + volume.head().uuid + "/" + log_of(options);
}

Async<std::unique_ptr<Branch>> open_branch(async::EventLoop& loop, const Volume& volume,
                                           const ServeOptions& options, async::StopToken stop) {
  const std::string name = log_of(options);
  const std::string folder = log_folder_of(volume, options);
  const auto worker = CO_TRY(async::Worker::create(loop, {.name = "open-log"}));
  Result<std::unique_ptr<writing::LogFolder>> log =
      co_await open_log(loop, *worker, folder, std::move(stop));
  MUST(co_await worker->stop());
  if (!log.ok() && log.error().code == Errc::kConflict) co_return is_written(volume, folder);
  Branch::Site site{.files = CO_TRY(std::move(log)),
                    .owner = {volume.head().uuid, name},
                    .nonce = env::real_random().next()};
  co_return co_await Branch::open(loop, std::move(site), volume.head().newest_version());
}

Async<void> remove_log(async::EventLoop& loop, std::string folder) {
  const auto worker = CO_TRY(async::Worker::create(loop, {.name = "remove-log"}));
  const Result<void> removed = co_await worker->run([&folder] { return env::remove_tree(folder); });
  MUST(co_await worker->stop());
  co_return removed;
}

// Nobody else would know.
void tell_lost(const Branch& branch, const ServeOptions& options) {
  if (branch.lost() == 0 || !options.say) return;
  options.say(std::to_string(branch.lost()) +
                  " changes at the end of the log are gone, as they lie behind one that is not "
                  "whole: the machine lost its power, or the disk is damaged",
              true);
}

// Of a mount: what is to be done with its branch.
using Work = Async<void> (Served::*)(async::StopToken);

Async<void> with_branch(async::EventLoop& loop, Volume& volume, volume::PackCache& packs,
                        ServeOptions options, Work work, async::StopToken stop) {
  const std::unique_ptr<Branch> branch = CO_TRY(co_await open_branch(loop, volume, options, stop));
  tell_lost(*branch, options);
  const std::string log = log_folder_of(volume, options);
  Result<void> done;
  bool is_log_spent = false;
  {
    Served served(loop, volume, packs, options, *branch);
    done = co_await (served.*work)(std::move(stop));
    is_log_spent = served.is_log_spent(done);
  }
  if (volume.has_session()) (void)co_await volume.end_session();
  MUST(co_await branch->stop());
  if (is_log_spent) (void)co_await remove_log(loop, log);
  co_return done;
}

}  // namespace

std::string log_of_branch(const std::string& branch, std::int64_t term) {
  return "branch-" + branch + "." + std::to_string(term);
}

Async<void> serve_branch(async::EventLoop& loop, Volume& volume, volume::PackCache& packs,
                         ServeOptions options, async::StopToken stop) {
  return with_branch(loop, volume, packs, std::move(options), &Served::run, std::move(stop));
}

Async<void> publish_branch(async::EventLoop& loop, Volume& volume, volume::PackCache& packs,
                           ServeOptions options, async::StopToken stop) {
  return with_branch(loop, volume, packs, std::move(options), &Served::publish, std::move(stop));
}

}  // namespace runnel::fuse
