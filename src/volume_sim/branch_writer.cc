#include "volume_sim/branch_writer.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "async/gate.h"
#include "base/check.h"
#include "volume/chunk_read.h"
#include "volume/kept_session.h"

namespace runnel::volume_sim {
namespace {

using writing::DataPlace;
using writing::Range;
using writing::Sequence;
using writing::Source;
using writing::testing::ModelNode;
using writing::testing::ModelTree;

constexpr int kChangesOfALife = 250;
constexpr int kSessionsOfALife = 4;
constexpr Bytes kSegment =
    Bytes::count(writing::kSegmentHeaderBytes + (std::int64_t{1} << 20) + 4'096);

Async<void> add_tree(volume::Volume& volume, volume::Snapshot& snapshot, volume::Inode inode,
                     ModelTree& tree) {
  const volume::Node node = CO_TRY(co_await snapshot.node(inode));
  ModelNode& made = tree[inode];
  made.kind = node.kind;
  made.mode = node.mode;
  made.links = node.links;
  made.modified = {node.changed, node.changed_nanos};
  made.target = node.target;
  if (node.kind == volume::NodeKind::kFile) {
    const auto extents = CO_TRY(co_await snapshot.extents(inode, node));
    made.bytes = CO_TRY(co_await volume::read_bytes(volume.ranges(), extents, 0, node.size, {}));
  }
  if (node.kind != volume::NodeKind::kFolder) co_return {};
  std::vector<volume::Inode> below;
  for (const auto& entry : CO_TRY(co_await snapshot.list(inode, "", 1'000))) {
    tree[inode].names[entry.name] = entry.what.inode;
    below.push_back(entry.what.inode);
  }
  for (const volume::Inode each : below) {
    if (!tree.contains(each)) CO_TRY(co_await add_tree(volume, snapshot, each, tree));
  }
  co_return {};
}

std::string first_difference(const std::string& one, const std::string& other) {
  std::size_t at = 0;
  while (at < one.size() && at < other.size() && one[at] == other[at]) ++at;
  const std::size_t line = one.rfind('\n', at) == std::string::npos ? 0 : one.rfind('\n', at) + 1;
  return one.substr(line, 200) + " // " + (line < other.size() ? other.substr(line, 200) : "");
}

}  // namespace

bool BranchWriter::look() {
  if (branch_ != nullptr) {
    truth_.look(*branch_);
    const auto& frozen = branch_->overlay().frozen();
    const bool is_told = frozen && !frozen->publishing.empty();
    // The record of a publish may be the one that the disk refuses.
    const bool is_first = is_told && !is_told_ && ends_ == Ends::kAnyhow;
    if (is_first && pick(8) == 0) disk_.fail_next_write();
    is_told_ = is_told;
  }
  return has_disk_ && disk_.is_killed();
}

void BranchWriter::kill(BranchTruth::Loss loss) {
  is_killed_ = true;
  has_disk_ = false;
  disk_.kill_after(0);
  if (loss == BranchTruth::Loss::kProcess) return;
  loss_ = loss;  // Until the next life has opened the log.
  disk_.cut_power(dice_);
}

Async<void> BranchWriter::live(Process& process, Ends ends) {
  is_killed_ = false;
  ends_ = ends;
  Result<volume::Volume> opened =
      co_await volume::Volume::open(process.context(), process.volume());
  tell(oracle_, "writer", opened);
  if (!opened.ok()) co_return {};
  const Result<void> done = co_await with_branch(process, *opened, ends);
  expect("writer", done);
  co_return {};
}

Async<void> BranchWriter::with_branch(Process& process, volume::Volume& volume, Ends ends) {
  has_disk_ = true;
  writing::Branch::Site site{.files = disk_.open(),
                             .owner = {volume.head().uuid, "main"},
                             .nonce = 7,
                             .segment = kSegment};
  const std::unique_ptr<writing::Branch> branch =
      CO_TRY(co_await writing::Branch::open(process.loop(), std::move(site), ""));
  branch_ = branch.get();
  const std::string wrong =
      truth_.opened(*branch, std::exchange(loss_, BranchTruth::Loss::kProcess));
  if (!wrong.empty()) oracle_.found_wrong(wrong);
  writing::Publisher publisher(process.loop(), volume, *branch);
  const LifePtr life(new Life{process, volume, *branch, publisher});
  Result<void> done = co_await check_seen(*branch);
  if (done.ok()) done = co_await under_sessions(life, ends);
  branch_ = nullptr;
  MUST(co_await branch->stop());
  has_disk_ = false;
  co_return done;
}

// One session after another, as they are taken for dead.
Async<void> BranchWriter::under_sessions(LifePtr life, Ends ends) {
  volume::Volume& volume = life->volume;
  for (int sessions = 0; sessions < kSessionsOfALife; ++sessions) {
    CO_TRY(co_await volume.begin_writing(volume.processes().this_one("mount")));
    const Result<void> done = co_await volume::with_session<void>(
        life->process.loop(), volume, [&life] { return life->publisher.in_use(); },
        [this, &life, ends](async::StopToken stop) {
          return ends == Ends::kPublished ? publish_all(*life) : work(life, std::move(stop));
        },
        {});
    const bool was_dead = !done.ok() && done.error().code == Errc::kConflict;
    if (!was_dead) co_return done;
  }
  co_return {};
}

Async<void> BranchWriter::work(LifePtr life, async::StopToken stop) {
  async::Gate publishes(life->process.loop());
  Result<void> done;
  for (int step = 0; step < kChangesOfALife && done.ok() && !is_killed_; ++step) {
    done = co_await act(life, publishes);
    if (done.ok()) done = co_await life->process.loop().sleep(Duration::millis(pick(400)), stop);
  }
  CO_TRY(co_await publishes.close());
  co_return done;
}

Async<void> BranchWriter::act(LifePtr life, async::Gate& publishes) {
  const int what = pick(100);
  if (what < 5 && !life->is_publishing) co_return begin_publish(life, publishes);
  if (what < 8 && !life->is_publishing) co_return co_await begin_anew(*life);
  if (what < 25) co_return co_await wait_for_log(*life);
  if (truth_.change(life->branch)) co_return {};
  ++failures_;
  if (life->is_publishing) co_return {};  // It will have failed, too.
  if (pick(3) == 0) co_return begin_publish(life, publishes);
  co_return co_await begin_anew(*life);
}

Result<void> BranchWriter::begin_publish(LifePtr life, async::Gate& publishes) {
  life->is_publishing = true;
  MUST(life->process.loop().spawn(publishes, publish(life)));
  return {};
}

Async<void> BranchWriter::publish(LifePtr life) {
  const Result<std::optional<volume::Manifest>> made =
      co_await life->publisher.publish("by a writer");
  life->is_publishing = false;
  // As a log may fail that has a publish in doubt.
  if (!made.ok() && pick(2) == 0) disk_.fail_next_write();
  expect("publish", made);
  const bool is_behind = !made.ok() && made.error().hint.starts_with("somebody else has published");
  if (is_behind) oracle_.found_wrong("a publish takes its own version for another's");
  if (!made.ok() || !*made) co_return {};
  ++published_;
  oracle_.told_published(**made);
  if (pick(3) > 0) co_return {};
  const Result<void> looked = co_await check_version(*life, **made);
  // The next one may have been published meanwhile, and gc have dropped this one.
  const bool is_gone = !looked.ok() && looked.error().code == Errc::kNotFound;
  if (!is_gone) expect("look at a version", looked);
  co_return {};
}

Async<void> BranchWriter::publish_all(Life& life) {
  const auto made = co_await life.publisher.publish("the last one");
  if (!made.ok()) {
    oracle_.found_wrong("the last publish ends with " + made.error().to_string());
    co_return {};
  }
  if (life.branch.overlay().has_to_publish()) {
    oracle_.found_wrong("the last publish leaves something to publish");
  }
  if (life.volume.head().newest() == nullptr) co_return {};
  const volume::Snapshot newest = CO_TRY(co_await life.volume.snapshot("latest"));
  if (newest.manifest().version != *life.branch.overlay().base()) {
    oracle_.found_wrong("the newest version is not the branch's");
  }
  if (text(truth_.versions().at(newest.manifest().version)) != text(truth_.model().version())) {
    oracle_.found_wrong("the last version has not all that was committed");
  }
  co_return co_await check_version(life, newest.manifest());
}

Async<void> BranchWriter::wait_for_log(Life& life) {
  const Sequence last = life.branch.last();
  if (pick(2) == 0) {
    const Result<void> written = co_await life.branch.written(last);
    if (written.ok()) truth_.is_written(last);
    co_return {};
  }
  const Result<void> durable = co_await life.branch.durable(last);
  if (durable.ok()) truth_.is_durable(last);
  co_return {};
}

Async<void> BranchWriter::begin_anew(Life& life) {
  truth_.begins_anew();
  const Result<void> done = co_await life.publisher.begin_anew();
  truth_.has_begun_anew(life.branch);
  expect("checkpoint", done);
  if (done.ok()) truth_.is_durable(life.branch.last());
  co_return {};
}

// Bytes of the log are read first, since the model's are all in memory.
Async<void> BranchWriter::check_seen(writing::Branch& branch) {
  std::map<DataPlace, std::string> read;
  const auto& nodes = branch.overlay().nodes();
  for (const auto& [inode, node] : nodes) {
    for (const Range& range : node->content.ranges(0, node->content.size())) {
      const Source& source = range.source;
      if (source.kind == Source::Kind::kZeros || source.kind == Source::Kind::kBase) continue;
      read[source.data] = CO_TRY(co_await branch.read(source.data, range.length));
    }
  }
  const writing::testing::BranchView view(
      branch.overlay(), truth_.versions(),
      [&read](DataPlace place, std::size_t length) { return read.at(place).substr(0, length); });
  const std::string seen = text(view.seen());
  const std::string wanted = text(truth_.model().now());
  if (seen == wanted) co_return {};
  oracle_.found_wrong("a branch is not what was done to it: " + first_difference(seen, wanted));
  co_return {};
}

Async<void> BranchWriter::check_version(Life& life, volume::Manifest manifest) {
  // The next publish may give the version other times.
  const std::string wanted = text(truth_.versions().at(manifest.version));
  volume::Snapshot snapshot(life.volume.pages(), std::move(manifest));
  ModelTree tree;
  CO_TRY(co_await add_tree(life.volume, snapshot, volume::kRootInode, tree));
  const std::string stored = text(tree);
  if (stored == wanted) co_return {};
  oracle_.found_wrong("a version is not the branch at its barrier: " +
                      first_difference(stored, wanted));
  co_return {};
}

}  // namespace runnel::volume_sim
