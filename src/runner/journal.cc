#include "runner/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/binary.h"
#include "base/check.h"
#include "env/files.h"
#include "env/held_blocks.h"
#include "output/open_file.h"
#include "runner/process_tree.h"

namespace runnel::runner {
namespace {

constexpr std::string_view kMagic = "RNLJ1\n";
constexpr std::size_t kRecordHeaderBytes = 8;  // Length and checksum, 4 bytes each.
constexpr std::size_t kRecordBytesMax = 64 * 1024;

enum class Kind : std::uint8_t { kHeader, kStart, kProcess, kEnd, kForget, kEndedCleanly };

void append_fixed32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

std::uint32_t fixed32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[i])) << (8 * i);
  }
  return value;
}

// The next whole record; empty when there is none or it is damaged.
std::string_view next_record(std::string_view bytes) {
  if (bytes.size() < kRecordHeaderBytes) return {};
  const std::size_t size = fixed32(bytes);
  if (size == 0 || size > kRecordBytesMax || size > bytes.size() - kRecordHeaderBytes) return {};
  const std::string_view body = bytes.substr(kRecordHeaderBytes, size);
  return fixed32(bytes.substr(4)) == checksum32(body) ? body : std::string_view();
}

struct Reader {
  JournalContent content;

  bool header(Decoder& in) {
    content.origin.boot = in.text(kNameBytesMax);
    content.origin.incarnation = Incarnation(std::string(in.text(kNameBytesMax)));
    if (in.complete()) return true;
    content.origin.home = in.text();
    content.origin.home_token = in.text(kNameBytesMax);
    return in.complete();
  }

  bool start(Decoder& in) {
    const std::uint64_t place = in.natural();
    JournalRank rank;
    rank.slot = static_cast<std::uint32_t>(in.natural());
    rank.started = Duration::millis(in.integer());
    rank.fact = decode_fact(in);
    if (!in.complete()) return false;
    content.ranks[{place, rank.fact.report.rank}] = std::move(rank);
    return true;
  }

  bool process(Decoder& in) {
    const std::uint64_t place = in.natural();
    const std::int32_t rank = in.integer32();
    const auto pid = static_cast<pid_t>(in.integer32());
    const auto found = content.ranks.find({place, rank});
    if (in.complete() && found != content.ranks.end()) found->second.pid = pid;
    return in.complete();
  }

  bool end(Decoder& in) {
    const std::uint64_t place = in.natural();
    RankFact fact = decode_fact(in);
    if (!in.complete()) return false;
    content.ranks[{place, fact.report.rank}].fact = std::move(fact);
    return true;
  }

  bool forget(Decoder& in) {
    const std::uint64_t place = in.natural();
    if (!in.complete()) return false;
    auto entry = content.ranks.lower_bound({place, INT32_MIN});
    while (entry != content.ranks.end() && entry->first.first == place) {
      entry = content.ranks.erase(entry);
    }
    return true;
  }

  bool record(std::string_view body) {
    Decoder in(body);
    content.ended_cleanly = false;
    switch (static_cast<Kind>(in.byte())) {
      case Kind::kHeader: return header(in);
      case Kind::kStart: return start(in);
      case Kind::kProcess: return process(in);
      case Kind::kEnd: return end(in);
      case Kind::kForget: return forget(in);
      case Kind::kEndedCleanly: content.ended_cleanly = true; return in.complete();
    }
    return false;
  }
};

}  // namespace

Result<JournalContent> parse_journal(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    return Error(Errc::kCorrupt, "the runner's journal does not start as one");
  }
  bytes.remove_prefix(kMagic.size());
  Reader reader;
  bool first = true;
  while (!bytes.empty()) {
    const std::string_view body = next_record(bytes);
    if (body.empty() || (first && body.front() != static_cast<char>(Kind::kHeader)) ||
        !reader.record(body)) {
      break;
    }
    first = false;
    bytes.remove_prefix(kRecordHeaderBytes + body.size());
  }
  if (first) return Error(Errc::kCorrupt, "the runner's journal has no whole header");
  reader.content.torn = !bytes.empty();
  return std::move(reader.content);
}

Result<JournalContent> read_journal(const std::string& path) {
  if (!env::exists(path)) return Error(Errc::kNotFound, "there is no journal");
  return parse_journal(read_small_file(path, Journal::kReadMax));
}

template <typename Fill>
void Journal::append(Fill fill) {
  scratch_.clear();
  Encoder encoder(scratch_);
  fill(encoder);
  CHECK(scratch_.size() <= kRecordBytesMax, "a journal record is too long");
  append_fixed32(pending_, static_cast<std::uint32_t>(scratch_.size()));
  append_fixed32(pending_, checksum32(scratch_));
  pending_.append(scratch_);
}

Result<Journal> Journal::create(std::string path, const JournalOrigin& origin) {
  Journal journal;
  journal.path_ = std::move(path);
  journal.temporary_ = journal.path_ + ".new";
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC;
  journal.file_ = async::UniqueFd(::open(journal.temporary_.c_str(), flags, 0600));
  if (!journal.file_.valid()) return errno_error("create " + journal.temporary_, errno);
  journal.pending_ = kMagic;
  journal.append([&](Encoder& out) {
    out.byte(static_cast<std::uint8_t>(Kind::kHeader));
    out.text(origin.boot).text(origin.incarnation.str());
    out.text(origin.home).text(origin.home_token);
  });
  return journal;
}

void Journal::start(std::uint64_t place, std::uint32_t slot, const RankFact& fact, Duration now) {
  append([&](Encoder& out) {
    out.byte(static_cast<std::uint8_t>(Kind::kStart)).natural(place).natural(slot);
    out.integer(now.millis());
    encode(out, fact);
  });
}

void Journal::process(std::uint64_t place, std::int32_t rank, pid_t pid) {
  append([&](Encoder& out) {
    out.byte(static_cast<std::uint8_t>(Kind::kProcess)).natural(place).integer(rank).integer(pid);
  });
}

void Journal::end(std::uint64_t place, const RankFact& fact) {
  append([&](Encoder& out) {
    out.byte(static_cast<std::uint8_t>(Kind::kEnd)).natural(place);
    encode(out, fact);
  });
}

void Journal::forget(std::uint64_t place) {
  append([&](Encoder& out) { out.byte(static_cast<std::uint8_t>(Kind::kForget)).natural(place); });
}

void Journal::end_cleanly() {
  append([](Encoder& out) { out.byte(static_cast<std::uint8_t>(Kind::kEndedCleanly)); });
}

Result<void> Journal::commit() {
  CHECK(!temporary_.empty(), "a journal is committed once");
  Result<void> flushed = flush();
  if (!flushed.ok() && flushed.error().code == Errc::kFull) {
    env::give_up_blocks_ahead(path_);  // The journal that is replaced.
    flushed = flush();
  }
  TRY(std::move(flushed));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return errno_error("rename " + temporary_, errno);
  }
  temporary_.clear();
  bytes_begun_ = bytes_;
  return {};
}

Result<void> Journal::flush() {
  if (pending_.empty()) return {};
  Result<void> written = write_pending();
  if (written.ok()) hold_ahead();
  return written;
}

// A part that was written before the disk was full stays written: the rest follows it.
Result<void> Journal::write_pending() {
  while (!pending_.empty()) {
    const ssize_t wrote = ::write(file_.get(), pending_.data(), pending_.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno_error("write the runner's journal", errno);
    bytes_ += static_cast<std::size_t>(wrote);
    pending_.erase(0, static_cast<std::size_t>(wrote));
  }
  return {};
}

// The rest of the last blocks is there where the file system holds none, or has none left.
void Journal::hold_ahead() {
  if (held_ >= bytes_ + kAhead / 2) return;
  const Result<void> held = env::hold_blocks(
      file_.get(), Bytes::count(static_cast<std::int64_t>(bytes_)), Bytes::count(kAhead));
  const bool never = !held.ok() && held.error().code == Errc::kUnsupported;
  if (held.ok() || never) held_ = bytes_ + kAhead;  // Asked once for each half.
}

bool Journal::in_place() const { return output::is_same_file(file_.get(), path_); }

void Journal::remove() {
  const std::string& named = temporary_.empty() ? path_ : temporary_;
  if (output::is_same_file(file_.get(), named)) ::unlink(named.c_str());
  file_.reset();
}

}  // namespace runnel::runner
