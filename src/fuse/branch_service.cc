#include "fuse/branch_service.h"

#define FUSE_USE_VERSION 314
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <utility>
#include <vector>

#include "base/check.h"
#include "env/process.h"
#include "fuse/kernel_node.h"
#include "fuse/kernel_session.h"
#include "fuse/publish_call.h"

namespace runnel::fuse {

using volume::NodeKind;
using writing::BranchFiles;
using writing::FileAttributes;
using writing::FileEntry;
using writing::FileFound;
using writing::Place;
using writing::Refusal;
using writing::RequestId;

namespace {

using Thread = WrittenFiles::Thread;

Thread thread_of(Request request) { return ::fuse_req_ctx(request)->pid; }

bool may_write(int flags) { return (flags & O_ACCMODE) != O_RDONLY; }

// So long a log that has failed is waited for.
constexpr Duration kBeginsAnewWithin = Duration::seconds(10);
constexpr Duration kLogLookEvery = Duration::millis(20);
constexpr std::size_t kBytesOfNames = 4'096;  // Of the records of a change without data, about.

Error no_such_name(const std::string& name) {
  return writing::refused(Refusal::kNoEntry, "there is no '" + name + "'");
}

}  // namespace

BranchService::BranchService(Parts parts)
    : loop_(parts.loop),
      branch_(parts.branch),
      files_(parts.files),
      connection_(parts.connection),
      room_(std::move(parts.room)),
      log_failed_(std::move(parts.log_failed)),
      publish_(std::move(parts.publish)),
      written_(parts.first_handle, env::process_of),
      answers_(parts.loop, parts.notices) {
  CHECK(connection_ != 0, "a connection without a number, whose requests are not known again");
  CHECK(room_ && log_failed_ && publish_, "a branch that nobody publishes");
}

RequestId BranchService::id_of(Request request) const { return {connection_, number_of(request)}; }

Async<void> BranchService::written() {
  const std::uint64_t begun_anew = branch_.begun_anew();
  const Result<void> done = co_await branch_.written(branch_.last());
  if (done.ok()) co_return {};
  co_return co_await once_begun_anew(done.error(), begun_anew);
}

Async<void> BranchService::durable() {
  const std::uint64_t begun_anew = branch_.begun_anew();
  const Result<void> done = co_await branch_.durable(branch_.last());
  if (done.ok()) co_return {};
  co_return co_await once_begun_anew(done.error(), begun_anew);
}

// A log that has failed begins anew with all that was changed, so that the change is made; told as
// failed it would be made behind the back of what the kernel remembers.
Async<void> BranchService::once_begun_anew(Error error, std::uint64_t begun_anew) {
  log_failed_();
  for (Duration waited; waited < kBeginsAnewWithin; waited = waited + kLogLookEvery) {
    CO_TRY(co_await loop_.sleep(kLogLookEvery, {}));
    const bool has_begun = branch_.begun_anew() != begun_anew && !branch_.has_failed();
    if (has_begun) co_return co_await branch_.durable(branch_.last());
  }
  co_return error;
}

// What the kernel does not take, since its asker is gone, it does not know of.
void BranchService::answer_entry(const Waiting& waiting, const FileFound& found) {
  const Request request = waiting->take();
  if (request == nullptr) return;
  const fuse_entry_param entry = entry_of(found.inode, found.attributes);
  if (::fuse_reply_entry(request, &entry) == 0) known_.add(found.inode);
}

// A disk that has no room may have some once the log begins anew, which it does as soon as what it
// has is published.
Async<void> BranchService::ready(std::size_t bytes, Purpose purpose) {
  if (!refuses_changes_ && purpose == Purpose::kGrowth) CO_TRY(co_await room_(bytes));
  if (refuses_changes_) {
    co_return writing::refused(Refusal::kReadOnly, "the volume is written to by somebody else");
  }
  const Result<void> there = co_await branch_.room_for(bytes, purpose);
  if (!there.ok()) log_failed_();
  co_return there;
}

writing::Asker BranchService::asker_of(const Waiting& waiting, RequestId id) {
  return {id, [waiting] { return waiting->hold(); }};
}

// --- Names and attributes.

void BranchService::look_up(Request request, Inode folder, const std::string& name) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_look_up(waiting, folder, name));
}

Async<void> BranchService::answer_look_up(Waiting waiting, Inode folder, std::string name) {
  const std::optional<FileFound> found = CO_TRY(co_await files_.look_up(folder, std::move(name)));
  if (found) {
    answer_entry(waiting, *found);
  } else if (const Request request = waiting->take()) {
    const fuse_entry_param entry = no_entry();
    ::fuse_reply_entry(request, &entry);
  }
  co_return {};
}

void BranchService::attributes(Request request, Inode inode) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_attributes(waiting, inode));
}

Async<void> BranchService::answer_attributes(Waiting waiting, Inode inode) {
  const struct stat all = stat_of(inode, CO_TRY(co_await files_.attributes(inode)));
  if (const Request request = waiting->take()) ::fuse_reply_attr(request, &all, kForLong);
  co_return {};
}

void BranchService::set_attributes(Request request, Inode inode, BranchFiles::NewAttributes what,
                                   std::optional<Handle> file) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_set_attributes(waiting, inode, what, file));
}

Async<void> BranchService::answer_set_attributes(Waiting waiting, Inode inode,
                                                 BranchFiles::NewAttributes what,
                                                 std::optional<Handle> file) {
  const Thread asking = thread_of(waiting->request);
  CO_TRY(co_await ready(kBytesOfNames));
  const FileAttributes now = CO_TRY(co_await files_.set_attributes(inode, what, asker_of(waiting)));
  if (what.size && file) written_.wrote(*file, asking);
  if (what.size && !file) CO_TRY(co_await files_.commit(inode));  // Nobody is to close it.
  CO_TRY(co_await written());
  const struct stat all = stat_of(inode, now);
  if (const Request request = waiting->take()) ::fuse_reply_attr(request, &all, kForLong);
  co_return {};
}

void BranchService::read_link(Request request, Inode inode) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_read_link(waiting, inode));
}

Async<void> BranchService::answer_read_link(Waiting waiting, Inode inode) {
  const std::string target = CO_TRY(co_await files_.target(inode));
  if (const Request request = waiting->take()) ::fuse_reply_readlink(request, target.c_str());
  co_return {};
}

void BranchService::totals(Request request) {
  constexpr std::uint64_t kBlock = 4'096;
  constexpr std::uint64_t kRoom = std::uint64_t{1} << 50;  // Bytes: a store has no end.
  const volume::Totals& counts = files_.base().snapshot->manifest().totals;
  struct statvfs all{};
  all.f_bsize = kBlock;
  all.f_frsize = kBlock;
  all.f_blocks = (static_cast<std::uint64_t>(counts.bytes) + kRoom) / kBlock;
  all.f_bfree = kRoom / kBlock;
  all.f_bavail = all.f_bfree;
  all.f_ffree = kRoom / kBlock;
  all.f_files = static_cast<fsfilcnt_t>(counts.files + counts.folders + counts.links) + all.f_ffree;
  all.f_favail = all.f_ffree;
  all.f_namemax = BranchFiles::kNameBytesMax;
  ::fuse_reply_statfs(request, &all);
}

void BranchService::forget(Inode inode, std::uint64_t times) {
  // A log that takes nothing more has the node until a mount begins anew.
  if (known_.forget(inode, times)) (void)files_.forget(inode);
}

// --- Changes of names.

Async<BranchFiles::NewNode> BranchService::inherited(Place at, BranchFiles::NewNode node) {
  const FileAttributes folder = CO_TRY(co_await files_.attributes(at.folder));
  if ((folder.mode & S_ISGID) == 0) co_return node;
  node.group = folder.group;
  if (node.kind == NodeKind::kFolder) node.mode |= S_ISGID;
  co_return node;
}

void BranchService::make(Request request, Place at, BranchFiles::NewNode node) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_make(waiting, id_of(request), std::move(at), std::move(node)));
}

Async<void> BranchService::answer_make(Waiting waiting, RequestId id, Place at,
                                       BranchFiles::NewNode node) {
  CO_TRY(co_await ready(kBytesOfNames));
  node = CO_TRY(co_await inherited(at, std::move(node)));
  const FileFound made =
      CO_TRY(co_await files_.create(asker_of(waiting, id), std::move(at), std::move(node)));
  CO_TRY(co_await files_.commit(made.inode));  // Nobody is to close it.
  CO_TRY(co_await written());
  answer_entry(waiting, made);
  co_return {};
}

void BranchService::link(Request request, Inode inode, Place at) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_link(waiting, id_of(request), inode, std::move(at)));
}

Async<void> BranchService::answer_link(Waiting waiting, RequestId id, Inode inode, Place at) {
  CO_TRY(co_await ready(kBytesOfNames));
  const FileFound linked =
      CO_TRY(co_await files_.link(asker_of(waiting, id), inode, std::move(at)));
  CO_TRY(co_await written());
  answer_entry(waiting, linked);
  co_return {};
}

void BranchService::remove(Request request, Place at, NodeKind kind) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_remove(waiting, id_of(request), std::move(at), kind));
}

Async<void> BranchService::answer_remove(Waiting waiting, RequestId id, Place at, NodeKind kind) {
  CO_TRY(co_await ready(kBytesOfNames, Purpose::kRemoval));
  CO_TRY(co_await files_.remove(asker_of(waiting, id), std::move(at), kind));
  CO_TRY(co_await written());
  if (const Request request = waiting->take()) ::fuse_reply_err(request, 0);
  co_return {};
}

void BranchService::rename(Request request, Place from, Place to, BranchFiles::RenameMode how) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting,
                 answer_rename(waiting, id_of(request), std::move(from), std::move(to), how));
}

Async<void> BranchService::answer_rename(Waiting waiting, RequestId id, Place from, Place to,
                                         BranchFiles::RenameMode how) {
  CO_TRY(co_await ready(kBytesOfNames));
  CO_TRY(co_await files_.rename(asker_of(waiting, id), std::move(from), std::move(to), how));
  CO_TRY(co_await written());
  if (const Request request = waiting->take()) ::fuse_reply_err(request, 0);
  co_return {};
}

// --- Open files.

void BranchService::open(Request request, Inode file, int flags) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_open(waiting, file, flags));
}

Async<void> BranchService::answer_open(Waiting waiting, Inode file, int flags) {
  const bool changes = may_write(flags) || (flags & O_TRUNC) != 0;
  if (changes) CO_TRY(co_await ready(kBytesOfNames));
  if ((flags & O_TRUNC) != 0) {
    CO_TRY(co_await files_.set_attributes(file, {.size = 0}, asker_of(waiting)));
    CO_TRY(co_await written());
  }
  give_handle(waiting, nullptr, flags);
  co_return {};
}

void BranchService::make_and_open(Request request, Place at, BranchFiles::NewNode node, int flags) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_make_and_open(waiting, id_of(request), std::move(at),
                                               std::move(node), flags));
}

Async<void> BranchService::answer_make_and_open(Waiting waiting, RequestId id, Place at,
                                                BranchFiles::NewNode node, int flags) {
  CO_TRY(co_await ready(kBytesOfNames));
  node = CO_TRY(co_await inherited(at, std::move(node)));
  const Result<FileFound> made = co_await files_.create(asker_of(waiting, id), at, std::move(node));
  const bool is_there = !made.ok() && writing::refusal_of(made.error()) == Refusal::kExists;
  if (!is_there || (flags & O_EXCL) != 0) {
    CO_TRY(Result<FileFound>(made));
    CO_TRY(co_await written());
    give_handle(waiting, &*made, flags);
    co_return {};
  }
  std::optional<FileFound> found = CO_TRY(co_await files_.look_up(at.folder, at.name));
  if (!found) co_return no_such_name(at.name);
  if ((flags & O_TRUNC) != 0) {
    found->attributes =
        CO_TRY(co_await files_.set_attributes(found->inode, {.size = 0}, asker_of(waiting)));
    CO_TRY(co_await written());
  }
  give_handle(waiting, &*found, flags);
  co_return {};
}

// The handle of who only reads is told of by nobody, so it is closed without a request.
void BranchService::give_handle(const Waiting& waiting, const FileFound* made, int flags) {
  const Request request = waiting->take();
  if (request == nullptr) return;
  fuse_file_info file{};
  file.keep_cache = 1;
  // A file that is new or was cut is to be in a version, also where nothing is written.
  const bool is_changed = made != nullptr || (flags & O_TRUNC) != 0;
  file.fh = may_write(flags) || is_changed ? written_.open() : WrittenFiles::kOfReader;
  file.noflush = file.fh == WrittenFiles::kOfReader ? 1 : 0;
  if (is_changed) written_.wrote(file.fh, thread_of(request));
  int given = 0;
  if (made != nullptr) {
    const fuse_entry_param entry = entry_of(made->inode, made->attributes);
    given = ::fuse_reply_create(request, &entry, &file);
    if (given == 0) known_.add(made->inode);
  } else {
    given = ::fuse_reply_open(request, &file);
  }
  if (given != 0) written_.close(file.fh);
}

void BranchService::read(Request request, Inode file, std::uint64_t offset, std::uint64_t length) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_read(waiting, file, offset, length));
}

Async<void> BranchService::answer_read(Waiting waiting, Inode file, std::uint64_t offset,
                                       std::uint64_t length) {
  const std::string bytes = CO_TRY(co_await files_.read(file, offset, length));
  if (const Request request = waiting->take()) {
    ::fuse_reply_buf(request, bytes.data(), bytes.size());
  }
  co_return {};
}

void BranchService::write(Request request, Inode file, Handle by, std::uint64_t offset,
                          std::string bytes) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_write(waiting, file, by, offset, std::move(bytes)));
}

Async<void> BranchService::answer_write(Waiting waiting, Inode file, Handle by,
                                        std::uint64_t offset, std::string bytes) {
  const std::size_t size = bytes.size();
  const Thread asking = thread_of(waiting->request);
  CO_TRY(co_await ready(size));
  CO_TRY(co_await files_.write(file, offset, std::move(bytes), asker_of(waiting)));
  written_.wrote(by, asking);
  CO_TRY(co_await written());
  if (const Request request = waiting->take()) ::fuse_reply_write(request, size);
  co_return {};
}

void BranchService::flush(Request request, Inode file, Handle by) {
  const Waiting waiting = answers_.add(request);
  const bool is_writers = written_.is_closed_by_writer(by, thread_of(request));
  answers_.begin(waiting, answer_flush(waiting, file, by, is_writers));
}

// The kernel forgets the handle whatever is answered.
void BranchService::release(Request request, Inode file, Handle by) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_flush(waiting, file, by, written_.has_written(by)));
  written_.close(by);
}

Async<void> BranchService::answer_flush(Waiting waiting, Inode file, Handle by, bool has_written) {
  if (has_written && !refuses_changes_) {
    CO_TRY(co_await files_.commit(file));
    written_.committed(by);
    CO_TRY(co_await written());
  }
  if (const Request request = waiting->take()) ::fuse_reply_err(request, 0);
  co_return {};
}

void BranchService::sync(Request request, Inode inode, Handle by) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_sync(waiting, inode, by));
}

Async<void> BranchService::answer_sync(Waiting waiting, Inode inode, Handle by) {
  if (!refuses_changes_) CO_TRY(co_await files_.commit(inode));
  written_.committed(by);
  CO_TRY(co_await durable());
  if (const Request request = waiting->take()) ::fuse_reply_err(request, 0);
  co_return {};
}

void BranchService::publish(Request request) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_publish(waiting));
}

// Why it was not is an answer, too, but for a stop, after which the next server is asked.
Async<void> BranchService::answer_publish(Waiting waiting) {
  const Result<std::string> published = co_await publish_();
  if (!published.ok() && published.error().code == Errc::kCancelled) co_return published.error();
  const PublishAnswer answer = answer_of(published);
  if (const Request request = waiting->take()) {
    ::fuse_reply_ioctl(request, 0, &answer, sizeof answer);
  }
  co_return {};
}

// --- Folders.

void BranchService::list(Request request, Inode folder, std::uint64_t place, std::size_t size,
                         Attributes attributes) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_list(waiting, folder, place, size, attributes));
}

// A name that is gone, and that nobody remembers, is followed by all: who lists has some twice, and
// misses none.
Async<std::string> BranchService::name_before(Inode folder, std::uint64_t place) {
  constexpr std::size_t kAtOnce = 1'000;
  if (place <= KernelListing::kDots) co_return std::string();
  if (const auto name = places_.name_at(folder, place)) co_return *name;
  for (std::string after;;) {
    const std::vector<FileEntry> entries = CO_TRY(co_await files_.list(folder, after, kAtOnce));
    for (const FileEntry& each : entries) {
      if (ListingPlaces::place_behind(each.name) == place) co_return each.name;
    }
    if (entries.empty()) co_return std::string();
    after = entries.back().name;
  }
}

Async<void> BranchService::answer_list(Waiting waiting, Inode folder, std::uint64_t place,
                                       std::size_t size, Attributes attributes) {
  KernelListing listing(size, attributes);
  std::vector<FileEntry> entries;
  if (listing.add_dots(folder, place)) {
    std::string before = CO_TRY(co_await name_before(folder, place));
    entries = CO_TRY(co_await files_.list(folder, std::move(before), listing.most()));
  }
  std::vector<Inode> told;
  for (const FileEntry& each : entries) {
    fuse_entry_param entry{};
    entry.attr.st_ino = each.what.inode;
    entry.attr.st_mode = type_of(each.what.kind);
    if (attributes == Attributes::kYes) {
      // One whose record is damaged has a name all the same; who asks for it gets the error.
      const auto found = co_await files_.look_up(folder, each.name);
      if (found.ok() && *found) entry = entry_of((*found)->inode, (*found)->attributes);
    }
    if (!listing.add(each.name, entry, ListingPlaces::place_behind(each.name))) break;
    if (entry.ino != 0) told.push_back(entry.ino);
    places_.remember(folder, each.name);
  }
  if (!listing.send(waiting->take())) co_return {};
  for (const Inode inode : told) known_.add(inode);
  co_return {};
}

}  // namespace runnel::fuse
