#include "runner/message.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace runnel::runner {
namespace {

constexpr std::int64_t kWholeMax = std::numeric_limits<std::int64_t>::max();
// A century: far over any duration that means something, far under any overflow.
constexpr std::int64_t kMillisMax = 100LL * 366 * 24 * 3'600'000;

Duration decode_duration(Decoder& in) { return Duration::millis(in.integer_in(0, kMillisMax)); }
Bytes decode_bytes(Decoder& in) { return Bytes::count(in.integer_in(0, kWholeMax / 2)); }
// A runner whose machine had no clock yet may have written a moment before the epoch.
Time decode_time(Decoder& in) {
  const std::int64_t millis = in.integer_in(-kWholeMax / 4, kWholeMax / 4);
  return Time::from_millis(std::max<std::int64_t>(0, millis));
}
// Ranks, steps and attempts: what is below zero cannot be stored.
std::int32_t decode_ordinal(Decoder& in) {
  return static_cast<std::int32_t>(in.integer_in(0, std::numeric_limits<std::int32_t>::max()));
}
std::string decode_name(Decoder& in) { return std::string(in.text(kNameBytesMax)); }
JobId decode_job(Decoder& in) {
  const Result<JobId> job = JobId::parse(in.text(kNameBytesMax));
  if (!job.ok()) in.fail();
  return job.value_or(JobId());
}

template <typename Enum>
Enum decode_enum(Decoder& in, Enum last) {
  const std::uint8_t value = in.byte();
  if (value <= static_cast<std::uint8_t>(last)) return static_cast<Enum>(value);
  in.fail();
  return Enum{};
}

void encode_texts(Encoder& out, const std::vector<std::string>& texts) {
  out.natural(texts.size());
  for (const std::string& text : texts) out.text(text);
}

std::vector<std::string> decode_texts(Decoder& in, std::size_t entries_max) {
  std::vector<std::string> texts(in.count(entries_max));
  for (std::string& text : texts) {
    text = in.text();
  }
  return texts;
}

TextBlock decode_block(Decoder& in) {
  const std::string_view bytes = in.text();
  if (TextBlock::valid(bytes)) return TextBlock::of_bytes(std::string(bytes));
  in.fail();
  return {};
}

void encode(Encoder& out, const AttemptOnNode& of) {
  out.text(of.node.str());
  runner::encode(out, of.attempt);
}

AttemptOnNode decode_attempt_on_node(Decoder& in) {
  NodeId node(decode_name(in));
  return {std::move(node), decode_attempt(in)};
}

void encode(Encoder& out, const PlaceStart& place) {
  out.text(place.node.str());
  runner::encode(out, place.attempt);
  out.integer(place.lane.value()).integer(place.first_rank);
  encode_texts(out, place.argv);
  out.text(place.env.bytes());
  out.natural(place.rank_env.size());
  for (const TextBlock& env : place.rank_env) out.text(env.bytes());
  out.text(place.workdir).byte(static_cast<std::uint8_t>(place.task_folder));
  out.text(place.checkpoint_dir).integer(place.memory_max.count());
  out.integer(place.max_duration.millis()).integer(place.grace.millis());
  out.integer(place.max_log.count()).integer(place.port_check);
}

// The job id and the checkpoint folder become parts of paths below the home: nothing else may.
bool is_path_part(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

bool stays_inside(std::string_view path) {
  if (path.empty() || path.front() == '/') return false;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (!is_path_part(path.substr(0, slash)) || slash + 1 == path.size()) return false;
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return true;
}

// A zero byte would cut a text for the kernel short silently.
bool has_bad_text(const std::vector<std::string>& texts) {
  return std::any_of(texts.begin(), texts.end(), [](const std::string& text) {
    return text.size() > Decoder::kTextBytesMax || text.find('\0') != std::string::npos;
  });
}

PlaceStart decode_place(Decoder& in) {
  PlaceStart place;
  place.node = NodeId(decode_name(in));
  place.attempt = decode_attempt(in);
  place.lane = LaneId(in.integer());
  place.first_rank = static_cast<std::int32_t>(in.integer_in(0, 1 << 24));
  place.argv = decode_texts(in, kArgumentsMax);
  place.env = decode_block(in);
  place.rank_env.resize(in.count(kRanksPerPlaceMax));
  for (TextBlock& env : place.rank_env) env = decode_block(in);
  place.workdir = decode_name(in);
  place.task_folder = decode_enum(in, TaskFolderKind::kLasting);
  place.checkpoint_dir = decode_name(in);
  place.memory_max = decode_bytes(in);
  place.max_duration = decode_duration(in);
  place.grace = decode_duration(in);
  place.max_log = decode_bytes(in);
  place.port_check = static_cast<std::int32_t>(in.integer_in(0, 65'535));
  if (!check_place(place).ok()) in.fail();
  return place;
}

void encode(Encoder& out, const PlaceStop& stop) {
  encode(out, stop.of);
  out.integer(stop.grace.millis()).byte(static_cast<std::uint8_t>(stop.reason));
}

PlaceStop decode_stop(Decoder& in) {
  PlaceStop stop;
  stop.of = decode_attempt_on_node(in);
  stop.grace = decode_duration(in);
  stop.reason = decode_enum(in, model::StopReason::kWithdrawn);
  return stop;
}

// How each message is written and read: its body after the byte of type.
void encode_fields(Encoder& out, const Hello& hello) {
  out.natural(hello.version).integer(hello.epoch.value());
}
void encode_fields(Encoder& out, const StartBatch& batch) {
  out.natural(batch.places.size());
  for (const PlaceStart& place : batch.places) encode(out, place);
}
void encode_fields(Encoder& out, const StopBatch& batch) {
  out.natural(batch.stops.size());
  for (const PlaceStop& stop : batch.stops) encode(out, stop);
}
void encode_fields(Encoder& out, const ForgetBatch& batch) {
  out.natural(batch.attempts.size());
  for (const AttemptOnNode& of : batch.attempts) encode(out, of);
}
void encode_fields(Encoder& out, const RemoveJob& remove) { out.text(remove.job.str()); }
void encode_fields(Encoder&, const Leave&) {}
void encode_fields(Encoder& out, const Welcome& welcome) {
  out.natural(welcome.version).text(welcome.incarnation.str()).integer(welcome.pid);
  out.text(welcome.notice).byte(welcome.crashed_idle ? 1 : 0);
}
void encode_fields(Encoder& out, const Refused& refused) { out.text(refused.reason); }
void encode_fields(Encoder& out, const Facts& facts) {
  out.byte(static_cast<std::uint8_t>(facts.kind)).natural(facts.ranks.size());
  for (const RankFact& fact : facts.ranks) encode(out, fact);
}

void decode_fields(Decoder& in, Hello& hello) {
  hello.version = static_cast<std::uint32_t>(in.natural());
  hello.epoch = Epoch(in.integer());
}
template <typename Entry>
void decode_list(Decoder& in, std::vector<Entry>& entries, Entry (*decode_one)(Decoder&)) {
  const std::size_t count = in.count(kFrameEntriesMax);
  for (std::size_t i = 0; i < count && !in.failed(); ++i) entries.push_back(decode_one(in));
}
void decode_fields(Decoder& in, StartBatch& batch) { decode_list(in, batch.places, decode_place); }
void decode_fields(Decoder& in, StopBatch& batch) { decode_list(in, batch.stops, decode_stop); }
void decode_fields(Decoder& in, ForgetBatch& batch) {
  decode_list(in, batch.attempts, decode_attempt_on_node);
}
void decode_fields(Decoder& in, RemoveJob& remove) {
  remove.job = decode_job(in);
  if (!is_path_part(remove.job.str())) in.fail();
}
void decode_fields(Decoder&, Leave&) {}
void decode_fields(Decoder& in, Welcome& welcome) {
  welcome.version = static_cast<std::uint32_t>(in.natural());
  welcome.incarnation = Incarnation(decode_name(in));
  welcome.pid = in.integer();
  welcome.notice = in.text();
  welcome.crashed_idle = in.byte() != 0;
}
void decode_fields(Decoder& in, Refused& refused) { refused.reason = in.text(); }
void decode_fields(Decoder& in, Facts& facts) {
  facts.kind = decode_enum(in, FactsKind::kInventoryEnd);
  decode_list(in, facts.ranks, decode_fact);
}

template <std::size_t Index = 0>
Message decode_type(Decoder& in, std::uint8_t type) {
  if constexpr (Index < std::variant_size_v<Message>) {
    if (type != Index) return decode_type<Index + 1>(in, type);
    std::variant_alternative_t<Index, Message> message;
    decode_fields(in, message);
    return message;
  } else {
    in.fail();
    return Leave{};
  }
}

}  // namespace

Result<void> check_place(const PlaceStart& place) {
  const auto invalid = [](std::string sentence) {
    return Error(Errc::kInvalid, std::move(sentence));
  };
  if (place.argv.empty()) return invalid("the command is empty");
  if (place.argv.size() > kArgumentsMax) {
    return invalid("more than " + std::to_string(kArgumentsMax) + " arguments");
  }
  if (place.rank_env.empty() || place.rank_env.size() > kRanksPerPlaceMax) {
    return invalid("a node runs 1 to " + std::to_string(kRanksPerPlaceMax) +
                   " ranks of an attempt");
  }
  if (!is_path_part(place.attempt.task.job.str()))
    return invalid("the job's id is no name of a folder");
  if (!stays_inside(place.checkpoint_dir)) {
    return invalid("checkpoint.dir must be a folder inside the task's own: '" +
                   place.checkpoint_dir + "' is not");
  }
  if (place.workdir.size() > kNameBytesMax || place.node.str().size() > kNameBytesMax) {
    return invalid("workdir is longer than " + std::to_string(kNameBytesMax) + " bytes");
  }
  if (place.checkpoint_dir.size() > kNameBytesMax) return invalid("checkpoint.dir is too long");
  if (has_bad_text(place.argv)) {
    return invalid("an argument holds a zero byte, or more than " +
                   std::to_string(Decoder::kTextBytesMax) + " bytes");
  }
  for (const TextBlock& env : place.rank_env) {
    if (env.bytes().size() + place.env.bytes().size() <= Decoder::kTextBytesMax) continue;
    return invalid("the environment takes more than " + std::to_string(Decoder::kTextBytesMax) +
                   " bytes");
  }
  return {};
}

void encode(Encoder& out, const model::AttemptRef& attempt) {
  out.text(attempt.task.job.str()).integer(attempt.task.step.value());
  out.integer(attempt.task.index.value()).integer(attempt.attempt.value());
}

model::AttemptRef decode_attempt(Decoder& in) {
  model::AttemptRef attempt;
  attempt.task.job = decode_job(in);
  attempt.task.step = StepIndex(decode_ordinal(in));
  attempt.task.index = TaskIndex(in.integer_in(0, kWholeMax));
  attempt.attempt = AttemptNumber(decode_ordinal(in));
  return attempt;
}

void encode(Encoder& out, const RankFact& fact) {
  const model::RankReport& report = fact.report;
  out.text(fact.node.str()).byte(static_cast<std::uint8_t>(fact.state));
  encode(out, report.attempt);
  out.integer(report.rank).integer(report.started_at.millis()).integer(report.ended_at.millis());
  out.integer(report.code).integer(report.signal).byte(static_cast<std::uint8_t>(report.cause));
  out.text(report.message);
}

RankFact decode_fact(Decoder& in) {
  RankFact fact;
  fact.node = NodeId(decode_name(in));
  fact.state = decode_enum(in, RankFact::State::kEnded);
  fact.report.attempt = decode_attempt(in);
  fact.report.rank = decode_ordinal(in);
  fact.report.ended = fact.state == RankFact::State::kEnded;
  fact.report.started_at = decode_time(in);
  fact.report.ended_at = decode_time(in);
  fact.report.code = in.integer32();
  fact.report.signal = in.integer32();
  fact.report.cause = decode_enum(in, model::EndCause::kRunnerLost);
  fact.report.message = in.text();
  return fact;
}

void encode_frame(const Message& message, std::string& out) {
  const std::size_t start = out.size();
  out.append(kFrameHeaderBytes, '\0');
  Encoder encoder(out);
  encoder.byte(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& fields) { encode_fields(encoder, fields); }, message);
  const std::size_t body = out.size() - start - kFrameHeaderBytes;
  CHECK(body <= kFrameBytesMax, "a message to or from the runner was not split");
  for (std::size_t i = 0; i < kFrameHeaderBytes; ++i) {
    out[start + i] = static_cast<char>((body >> (8 * i)) & 0xff);
  }
}

Result<Message> decode_body(std::string_view body) {
  Decoder decoder(body);
  const std::uint8_t type = decoder.byte();
  Message message = decode_type(decoder, type);
  if (decoder.complete()) return message;
  return Error(Errc::kCorrupt, "a message of type " + std::to_string(type) +
                                   " between agent and runner does not decode");
}

Result<std::size_t> frame_size(std::string_view buffer) {
  if (buffer.size() < kFrameHeaderBytes) return std::size_t{0};
  std::size_t body = 0;
  for (std::size_t i = 0; i < kFrameHeaderBytes; ++i) {
    body |= static_cast<std::size_t>(static_cast<std::uint8_t>(buffer[i])) << (8 * i);
  }
  if (body == 0 || body > kFrameBytesMax) {
    return Error(Errc::kCorrupt, "a frame between agent and runner has a length out of bounds");
  }
  const std::size_t whole = kFrameHeaderBytes + body;
  return buffer.size() < whole ? std::size_t{0} : whole;
}

}  // namespace runnel::runner
