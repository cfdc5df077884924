#include "store/batch.h"

#include "hash/sha256.h"
#include "json/read.h"
#include "json/writer.h"

namespace runnel::store {
namespace {

constexpr std::size_t kNumbersSize = 160;  // Room for names, numbers and punctuation.

Error damaged(const Error& cause) {
  return Error(Errc::kCorrupt, "this is not a batch of an event log: " + cause.to_string());
}

Result<Batch> read_fields(const json::Value& document) {
  json::Reader in = TRY(json::Reader::of(document, ""));
  Batch batch;
  batch.event_count = TRY(in.integer("count"));
  batch.epoch = Epoch(TRY(in.integer("epoch")));
  const json::Value* events = TRY(in.list("events"));
  batch.first_event = EventSeq(TRY(in.integer("first")));
  TRY(in.integer("format"));
  const json::Value* input = TRY(in.object("input"));
  batch.now = Time::from_millis(TRY(in.integer("now")));
  batch.seq = BatchSeq(TRY(in.integer("seq")));
  TRY(in.finish());
  if (events->as_list().size() != static_cast<std::uint64_t>(batch.event_count)) {
    return Error(Errc::kCorrupt, "the number of events differs from their count");
  }
  batch.input = input->dump();
  batch.events = events->dump();
  return batch;
}

Result<void> check_format(const json::Value& document) {
  const json::Value* format = document.find("format");
  if (format == nullptr || !format->is_int() || format->as_int() <= kFormatVersion) return {};
  Error error(Errc::kUnsupported, "this event log has format " + std::to_string(format->as_int()) +
                                      ", and this version of runnel reads formats up to " +
                                      std::to_string(kFormatVersion));
  return error.with_hint("use the newer version of runnel that wrote it");
}

}  // namespace

std::string canonical_text(const Batch& batch) {
  std::string text;
  text.reserve(kNumbersSize + batch.input.size() + batch.events.size());
  json::Writer out(text);
  out.begin_object();
  out.field("count", batch.event_count);
  out.field("epoch", batch.epoch.value());
  out.key("events").raw(batch.events);
  out.field("first", batch.first_event.value());
  out.field("format", kFormatVersion);
  out.key("input").raw(batch.input);
  out.field("now", batch.now.millis());
  out.field("seq", batch.seq.value());
  out.end_object();
  return text;
}

std::string chained_hash(std::string_view previous_hash, const Batch& batch) {
  return hash::chain(previous_hash, canonical_text(batch));
}

Result<Batch> parse_batch(std::string_view text) {
  const Result<json::Value> document = json::parse(text);
  if (!document.ok()) return damaged(document.error());
  TRY(check_format(*document));
  Result<Batch> batch = read_fields(*document);
  if (!batch.ok()) return damaged(batch.error());
  if (canonical_text(*batch) != text) {
    return damaged(Error(Errc::kCorrupt, "the text is not in its canonical form"));
  }
  return batch;
}

}  // namespace runnel::store
