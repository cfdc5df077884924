#include "writing/write_log.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"

namespace runnel::writing {
namespace {

// A log that has no record yet.
Result<Replayed> made(LogFiles& files, const LogOwner& owner, std::uint64_t nonce,
                      std::uint64_t size) {
  Replayed fresh;
  fresh.segment.volume = owner.volume;
  fresh.segment.branch = owner.branch;
  fresh.segment.nonce = nonce;
  fresh.segment.size = size;
  fresh.segment.number = 1;
  fresh.segment.previous = nonce;
  fresh.end = kSegmentHeaderBytes;
  fresh.sum = nonce;
  TRY(files.make(1, encode_segment_header(fresh.segment), size));
  return fresh;
}

Result<Replayed> replayed_or_made(LogFiles& files, const LogOwner& owner,
                                  const RecordVisitor& visit, std::uint64_t nonce,
                                  std::uint64_t size) {
  std::optional<Replayed> there = TRY(replay(files, owner, visit));
  return there ? Result<Replayed>(*std::move(there)) : made(files, owner, nonce, size);
}

Result<void> check_names(const LogOwner& owner) {
  for (const std::string& name : {owner.volume, owner.branch}) {
    if (name.size() <= kNameBytesMax) continue;
    return Error(Errc::kInvalid, "a name of a log has " + std::to_string(name.size()) + " bytes; " +
                                     std::to_string(kNameBytesMax) + " at most");
  }
  return {};
}

}  // namespace

Async<WriteLog::Opened> WriteLog::open(async::EventLoop& loop, std::unique_ptr<LogFiles> files,
                                       LogOwner owner, std::uint64_t nonce, RecordVisitor visit,
                                       Bytes segment) {
  CO_TRY(check_names(owner));
  const auto size = static_cast<std::uint64_t>(segment.count());
  CHECK(size >= kSegmentHeaderBytes + frame_bytes(kRecordBytesMax), "a record fits no segment");
  auto writer = CO_TRY(async::Worker::create(loop, {.name = "write-log"}));
  auto reader = CO_TRY(async::Worker::create(loop, {.name = "read-log"}));
  LogFiles* const all = files.get();
  Result<Replayed> found = co_await writer->run([all, &owner, &visit, nonce, size] {
    return replayed_or_made(*all, owner, visit, nonce, size);
  });
  if (!found.ok()) {
    MUST(co_await writer->stop());
    MUST(co_await reader->stop());
    co_return std::move(found).error();
  }
  Opened opened;
  opened.lost = found->lost;
  opened.log.reset(
      new WriteLog(loop, std::move(files), std::move(writer), std::move(reader), *found, size));
  co_return opened;
}

WriteLog::WriteLog(async::EventLoop& loop, std::unique_ptr<LogFiles> files,
                   std::unique_ptr<async::Worker> writer, std::unique_ptr<async::Worker> reader,
                   const Replayed& at, std::uint64_t segment_bytes)
    : files_(std::move(files)),
      writer_(std::move(writer)),
      reader_(std::move(reader)),
      segment_most_(segment_bytes),
      segment_bytes_(segment_bytes),
      turn_ended_(loop),
      segment_(at.segment),
      end_(at.end),
      length_((at.segment.number - at.oldest) * at.segment.size + at.end),
      oldest_(at.oldest),
      made_(at.segment.number),
      highest_(at.highest),
      sum_(at.sum),
      last_(at.last),
      written_(at.last),
      durable_(at.last) {}

WriteLog::~WriteLog() { CHECK(!is_busy_, "a log is destroyed while it is written"); }

Async<void> WriteLog::stop() {
  CO_TRY(co_await reader_->stop());
  co_return co_await writer_->stop();
}

Result<LoggedRecord> WriteLog::append(Record record) {
  CHECK(!std::holds_alternative<CheckpointEnd>(record.change), "that is the log's own");
  if (failure_) return *failure_;
  const std::string payload = encode_record(record);
  if (payload.size() > kRecordBytesMax) {
    return Error(Errc::kInvalid, "a record of a log has " + std::to_string(payload.size()) +
                                     " bytes; " + std::to_string(kRecordBytesMax) + " at most");
  }
  return add(std::move(record), payload);
}

LoggedRecord WriteLog::add(Record record, const std::string& payload) {
  const std::uint64_t size = frame_bytes(payload.size());
  CHECK(size <= segment_.size - kSegmentHeaderBytes, "a record is longer than a segment");
  if (end_ + size > segment_.size) begin_segment(next_segment());
  if (pending_.empty()) begin_batch({.segment = segment_, .place = end_});
  Batch& batch = pending_.back();
  sum_ = append_frame(*batch.frames, segment_.nonce, last_ + 1, durable_, sum_, payload);
  held_bytes_ += size;
  LoggedRecord logged;
  logged.record = std::move(record);
  logged.sequence = batch.last = ++last_;
  logged.end = {.file = {DataFile::Kind::kSegment, segment_.number},
                .offset = end_ + kFrameHeadBytes + payload.size()};
  end_ += size;
  length_ += size;
  return logged;
}

SegmentHeader WriteLog::next_segment() {
  SegmentHeader next = segment_;
  next.size = segment_bytes_;
  next.number = ++highest_;
  next.before = segment_.number;
  next.begins_anew = false;
  next.first = last_ + 1;
  next.previous = sum_;
  return next;
}

void WriteLog::begin_segment(SegmentHeader segment) {
  segment_ = std::move(segment);
  sum_ = segment_.previous;
  end_ = kSegmentHeaderBytes;
  has_spare_ = false;
  is_synced_ = false;
  begin_batch({.segment = segment_, .is_made = false, .place = end_, .last = last_});
}

void WriteLog::begin_batch(Batch batch) {
  held_[{batch.segment.number, batch.place}] = {.frames = batch.frames};
  pending_.push_back(std::move(batch));
}

std::optional<std::string> WriteLog::held(DataPlace place, std::size_t length) const {
  if (place.file.kind != DataFile::Kind::kSegment) return std::nullopt;
  auto found = held_.upper_bound({place.file.number, place.offset});
  if (found == held_.begin()) return std::nullopt;
  const auto& [at, batch] = *--found;
  const auto& [segment, begin] = at;
  if (segment != place.file.number) return std::nullopt;
  const std::uint64_t from = place.offset - begin;
  if (from >= batch.frames->size()) return std::nullopt;
  CHECK(length <= batch.frames->size() - from, "bytes of a record are in two batches");
  return batch.frames->substr(from, length);
}

Async<std::string> WriteLog::read(DataPlace place, std::size_t length) {
  CHECK(place.file.kind == DataFile::Kind::kSegment, "a log has its segments");
  if (auto bytes = held(place, length)) co_return *std::move(bytes);
  const LogFiles* const files = files_.get();
  co_return co_await reader_->run(
      [files, place, length] { return files->read_part(place.file.number, place.offset, length); });
}

Async<void> WriteLog::room_for(std::size_t bytes, Purpose purpose) {
  CHECK(bytes <= static_cast<std::size_t>(kSegment.count()) / 2,
        "more than a segment has room for");
  const std::size_t kept = purpose == Purpose::kRemoval ? 0 : kRecordBytesMax;
  const bool fits = end_ + bytes + kept <= segment_.size;
  if (fits || has_spare_) co_return {};
  co_return co_await hold_room(LogFiles::Reserve::kLeave);
}

Async<void> WriteLog::hold_room(LogFiles::Reserve reserve) {
  if (has_spare_) co_return {};
  LogFiles* const files = files_.get();
  // Who writes much and syncs nothing would write each byte twice.
  const auto room = is_synced_ ? LogFiles::Room::kWritten : LogFiles::Room::kPromised;
  const auto least = std::min(segment_most_, static_cast<std::uint64_t>(kSegmentLeast.count()));
  for (std::uint64_t size = segment_most_;; size = std::max(least, size / 2)) {
    const Result<void> held = co_await on_writer(
        [files, size, room, reserve] { return files->hold_room(size, room, reserve); });
    is_short_of_room_ = !held.ok() && held.error().code == Errc::kFull;
    if (held.ok()) {
      segment_bytes_ = size;
      has_spare_ = true;
    }
    if (!is_short_of_room_ || size == least) co_return held;
  }
}

Async<std::vector<std::string>> WriteLog::read_all(std::vector<DataRange> ranges) {
  std::vector<std::string> all(ranges.size());
  std::vector<std::size_t> on_disk;
  for (std::size_t at = 0; at < ranges.size(); ++at) {
    CHECK(ranges[at].place.file.kind == DataFile::Kind::kSegment, "a log has its segments");
    if (auto bytes = held(ranges[at].place, ranges[at].length)) {
      all[at] = *std::move(bytes);
    } else {
      on_disk.push_back(at);
    }
  }
  if (on_disk.empty()) co_return all;
  const LogFiles* const files = files_.get();
  CO_TRY(co_await reader_->run([files, &ranges, &on_disk, &all]() -> Result<void> {
    for (const std::size_t at : on_disk) {
      const DataPlace& place = ranges[at].place;
      all[at] = TRY(files->read_part(place.file.number, place.offset, ranges[at].length));
    }
    return {};
  }));
  co_return all;
}

Async<void> WriteLog::written(Sequence sequence) { co_return co_await wait_for(sequence, false); }

Async<void> WriteLog::durable(Sequence sequence) {
  ++wait_for_disk_;
  is_synced_ = true;
  Result<void> waited = co_await wait_for(sequence, true);
  --wait_for_disk_;
  co_return waited;
}

// Whoever finds nobody at work does the work for all who wait.
Async<void> WriteLog::wait_for(Sequence sequence, bool on_disk) {
  CHECK(sequence <= last_, "a record is waited for that is not in the log");
  while ((on_disk ? durable_ : written_) < sequence) {
    if (is_busy_) {
      CO_TRY(co_await turn_ended_.wait({}));
    } else if (failure_) {
      co_return *failure_;
    } else if (on_disk || !write_at_once()) {
      CO_TRY(co_await work());
    }
  }
  co_return {};
}

Async<void> WriteLog::work() {
  CHECK(!is_busy_, "two write a log");
  is_busy_ = true;
  const std::deque<Batch> batches = std::exchange(pending_, {});
  for (const Batch& batch : batches) held_[{batch.segment.number, batch.place}].last = batch.last;
  const bool is_much = held_bytes_ > static_cast<std::size_t>(kHeldMax.count());
  const bool on_disk = wait_for_disk_ > 0 || is_much;
  const std::uint64_t current = segment_.number;
  const Sequence until = batches.empty() ? written_ : batches.back().last;
  LogFiles* const files = files_.get();
  // A segment is synced before the next one is there, so that no record is missing in the midst.
  const auto write = [files, &batches, on_disk, current]() -> Result<void> {
    for (const Batch& batch : batches) {
      const SegmentHeader& segment = batch.segment;
      if (!batch.is_made) {
        if (!segment.begins_anew) TRY(files->sync(segment.before));
        TRY(files->make(segment.number, encode_segment_header(segment), segment.size));
      }
      if (!batch.frames->empty()) TRY(files->write(segment.number, batch.place, *batch.frames));
    }
    return on_disk ? files->sync(current) : Result<void>();
  };
  const Result<void> done = co_await on_writer(write);
  is_busy_ = false;
  end_work(done, current, until, on_disk);
  co_return {};
}

void WriteLog::end_work(const Result<void>& done, std::uint64_t current, Sequence until,
                        bool on_disk) {
  const bool is_past = current < anew_;  // A checkpoint stands for it by now.
  if (done.ok()) written_ = std::max(written_, until);
  if (done.ok() && on_disk) let_go(until);
  if (done.ok()) made_ = std::max(made_, current);
  if (!done.ok() && !is_past) failure_ = done.error();
  turn_ended_.notify_all();
}

bool WriteLog::write_at_once() {
  const bool is_much = held_bytes_ > static_cast<std::size_t>(kHeldMax.count());
  const bool is_alone = on_writer_ == 0 && wait_for_disk_ == 0 && pending_.size() == 1;
  if (!is_alone || is_much || !files_->writes_at_once()) return false;
  const Batch& first = pending_.front();
  if (!first.is_made || first.frames->size() > kAtOnceMax) return false;
  const Batch batch = std::exchange(pending_, {}).front();
  held_[{batch.segment.number, batch.place}].last = batch.last;
  const Result<void> done = files_->write(batch.segment.number, batch.place, *batch.frames);
  end_work(done, batch.segment.number, batch.last, false);
  return true;
}

Async<void> WriteLog::on_writer(std::function<Result<void>()> work) {
  ++on_writer_;
  Result<void> done = co_await writer_->run(std::move(work));
  --on_writer_;
  co_return done;
}

void WriteLog::let_go(Sequence durable) {
  durable_ = std::max(durable_, durable);
  std::erase_if(held_, [this](const auto& each) {
    const Held& held = each.second;
    const bool is_there = held.last > 0 && held.last <= durable_;
    if (is_there) held_bytes_ -= held.frames->size();
    return is_there;
  });
}

Record WriteLog::with_bytes(Record record) const {
  const auto* const staged = std::get_if<WriteStaged>(&record.change);
  if (staged == nullptr) return record;
  auto bytes = held(staged->place, staged->length);
  if (!bytes) return record;
  record.change = Write{.file = staged->file,
                        .offset = staged->offset,
                        .when = staged->when,
                        .bytes = *std::move(bytes)};
  return record;
}

// Its room is held first, beside those who write: without it nothing has changed.
Async<void> WriteLog::begin_anew(std::function<std::vector<Record>()> checkpoint,
                                 RecordVisitor visit) {
  CO_TRY(co_await hold_room(LogFiles::Reserve::kTake));
  failure_.reset();
  pending_.clear();
  last_ += kCheckpointGap;
  SegmentHeader anew = next_segment();
  anew.before = made_;
  anew.begins_anew = true;
  anew.previous = anew.nonce;
  anew_ = anew.number;
  length_ = 0;
  const HeldBatches before = held_;
  begin_segment(std::move(anew));
  for (Record& record : checkpoint()) {
    CHECK(!std::holds_alternative<CheckpointEnd>(record.change), "that is the log's own");
    Record whole = with_bytes(std::move(record));
    const std::string payload = encode_record(whole);
    MUST(visit(add(std::move(whole), payload)));
  }
  const Record end{.request = {}, .change = CheckpointEnd{}};
  add(end, encode_record(end));
  for (const auto& [at, batch] : before) {
    CHECK(batch.frames->size() <= held_bytes_, "more is let go than was held");
    held_bytes_ -= batch.frames->size();
    held_.erase(at);
  }
  const std::uint64_t number = anew_;
  CO_TRY(co_await durable(last_));
  is_synced_ = false;
  co_return co_await retire_before(number);
}

Async<void> WriteLog::retire_before(std::uint64_t number) {
  LogFiles* const files = files_.get();
  const auto retire = [files, from = oldest_, number]() -> Result<void> {
    for (std::uint64_t at = from; at < number; ++at) TRY(files->retire(at));
    return {};
  };
  CO_TRY(co_await on_writer(retire));
  oldest_ = number;
  co_return {};
}

Async<void> WriteLog::remove_unused(std::set<DataFile> used) {
  LogFiles* const files = files_.get();
  CHECK(oldest_ <= made_, "a log has no segment");
  co_return co_await on_writer([files, &used]() -> Result<void> {
    for (const std::uint64_t number : TRY(files->retired())) {
      if (!used.contains({DataFile::Kind::kSegment, number})) TRY(files->remove(number));
    }
    return {};
  });
}

}  // namespace runnel::writing
