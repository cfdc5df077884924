#include "store/checks.h"

#include <charconv>

#include "base/check.h"

namespace runnel::store {
namespace {

std::string name_of(BatchSeq seq) { return "batch " + std::to_string(seq.value()); }

Error bad_batch(const Batch& batch, const std::string& reason) {
  Error error(Errc::kCorrupt, name_of(batch.seq) + " of the event log is damaged: " + reason);
  return error.with_value(std::to_string(batch.seq.value()));
}

Result<void> check_follows(const Head& head, Epoch epoch, const Batch& batch) {
  if (batch.seq.value() != head.last.value() + 1 || batch.first_event != head.next_event) {
    return Error(Errc::kPrecondition,
                 name_of(batch.seq) + " with event " + std::to_string(batch.first_event.value()) +
                     " does not follow " + name_of(head.last) + ", whose next event is " +
                     std::to_string(head.next_event.value()));
  }
  if (batch.epoch != epoch) {
    return Error(Errc::kPrecondition, name_of(batch.seq) + " is of another epoch than its append");
  }
  return {};
}

Result<void> check_size(const Batch& batch) {
  const std::size_t size = batch.input.size() + batch.events.size();
  if (size <= static_cast<std::size_t>(kBatchBytesMax.count()) - 1024) return {};
  Error error(Errc::kInvalid, "one request leads to " +
                                  human(Bytes::count(static_cast<std::int64_t>(size))) +
                                  " of events, more than the maximum of " + human(kBatchBytesMax));
  return error.with_hint("split it into smaller ones");
}

}  // namespace

Result<void> check_epoch(Epoch epoch, Epoch latest) {
  if (epoch == latest) return {};
  Error error(Errc::kPrecondition, "the lease of epoch " + std::to_string(epoch.value()) +
                                       " is over: the event log is at epoch " +
                                       std::to_string(latest.value()));
  return error.with_hint("another daemon has taken over this home; this one must stop");
}

Result<Head> chain_batches(const Head& head, Epoch epoch, std::vector<Batch>& batches) {
  Head next = head;
  for (Batch& batch : batches) {
    CHECK(batch.event_count >= 0, "a batch has no negative number of events");
    CHECK(!batch.input.empty(), "a batch has the text of its input");
    CHECK(!batch.events.empty(), "a batch has the text of its events");
    TRY(check_follows(next, epoch, batch));
    TRY(check_size(batch));
    batch.hash = chained_hash(next.hash, batch);
    next.last = batch.seq;
    next.next_event = batch.next_event();
    next.hash = batch.hash;
  }
  return next;
}

Result<void> verify_follows(const Batch& batch, BatchSeq previous_seq, EventSeq first_event,
                            std::string_view previous_hash) {
  if (batch.seq.value() != previous_seq.value() + 1) {
    const BatchSeq missing(previous_seq.value() + 1);
    Error error(Errc::kCorrupt, name_of(missing) + " of the event log is missing");
    return error.with_value(std::to_string(missing.value()));
  }
  if (batch.first_event != first_event) return bad_batch(batch, "its events do not follow");
  if (batch.event_count < 0) return bad_batch(batch, "its number of events is negative");
  if (chained_hash(previous_hash, batch) != batch.hash) {
    return bad_batch(batch, "its hash does not match what it holds and what is before it");
  }
  return {};
}

Error pruned(const std::string& what, BatchSeq through) {
  return Error(Errc::kGone,
               what + " is no longer kept: the event log was pruned up to " + name_of(through));
}

Error no_such_event(EventSeq event, EventSeq next) {
  return Error(Errc::kNotFound, "there is no event " + std::to_string(event.value()) +
                                    ": the next one will be " + std::to_string(next.value()));
}

Error no_such_key(std::string_view key) {
  Error error(Errc::kNotFound, "the archive has no '" + std::string(key) + "'");
  return error.with_value(std::string(key));
}

Error not_in_log(BatchSeq snapshot, BatchSeq last) {
  return Error(Errc::kPrecondition, "a snapshot of " + name_of(snapshot) +
                                        " cannot be kept: the event log ends at " + name_of(last));
}

Error not_covered(BatchSeq through) {
  return Error(Errc::kPrecondition, "the event log cannot be pruned up to " + name_of(through) +
                                        ": two snapshots must cover what is dropped");
}

Error disk_is_full() {
  return Error(Errc::kFull, "the disk of the event log is full")
      .with_hint("free some space on its disk; work then goes on");
}

Error log_is_broken() {
  return Error(Errc::kIo, "an earlier write to the event log failed; it must be opened anew");
}

std::string page_token(const PagePlace& place) {
  return std::to_string(place.sort_key.size()) + ":" + place.sort_key + place.key;
}

Result<PagePlace> parse_page_token(std::string_view token) {
  std::size_t size = 0;
  const auto [end, code] = std::from_chars(token.data(), token.data() + token.size(), size);
  std::string_view rest = token;
  rest.remove_prefix(static_cast<std::size_t>(end - token.data()));
  if (code != std::errc() || !rest.starts_with(':') || rest.size() - 1 < size) {
    Error error(Errc::kInvalid, "'" + std::string(token) + "' is not a page token");
    return error.with_value(std::string(token)).with_hint("use `next_page` of the page before");
  }
  return PagePlace{std::string(rest.substr(1, size)), std::string(rest.substr(1 + size))};
}

}  // namespace runnel::store
