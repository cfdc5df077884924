#pragma once

#include <string>

#include "base/result.h"
#include "json/value.h"
#include "json/writer.h"
#include "model/event.h"
#include "model/input.h"
#include "model/spec.h"

namespace runnel::model {

// Canonical JSON of inputs, events and specifications (law 2): sorted keys, integers and text only,
// members that hold their default left out. Decoding is strict: an unknown member, a wrong type, an
// amount out of its limits is kInvalid naming the field. decode(encode(x)) == x.

void encode(json::Writer& out, const Resources& value);
void encode(json::Writer& out, const StepSpec& value);
void encode(json::Writer& out, const JobSpec& value);
void encode(json::Writer& out, const NodeInfo& value);
void encode(json::Writer& out, const RankReport& value);
void encode(json::Writer& out, const Input& value);
void encode(json::Writer& out, const Event& value);

Result<Resources> decode_resources(const json::Value& value, const std::string& path);
// Also asks check_stored().
Result<JobSpec> decode_job_spec(const json::Value& value, const std::string& path);
// The same without a judgement, for whoever asks check_spec() for every fault.
Result<JobSpec> read_job_spec(const json::Value& value, const std::string& path);
Result<NodeInfo> decode_node_info(const json::Value& value, const std::string& path);
Result<RankReport> decode_rank_report(const json::Value& value, const std::string& path);
Result<Input> decode_input(const json::Value& value);
Result<Event> decode_event(const json::Value& value);

std::string encode_text(const Input& value);
std::string encode_text(const Event& value);
std::string encode_text(const JobSpec& value);

}  // namespace runnel::model
