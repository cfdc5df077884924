#include <string>

#include "model/codec.h"
#include "model/spec_records.h"

namespace runnel::model {

void encode(json::Writer& out, const Resources& value) { write_record(out, value); }
void encode(json::Writer& out, const StepSpec& value) { write_record(out, value); }
void encode(json::Writer& out, const JobSpec& value) { write_record(out, value); }
void encode(json::Writer& out, const NodeInfo& value) { write_record(out, value); }
void encode(json::Writer& out, const RankReport& value) { write_record(out, value); }

Result<Resources> decode_resources(const json::Value& value, const std::string& path) {
  return read_record<Resources>(value, path);
}

Result<JobSpec> decode_job_spec(const json::Value& value, const std::string& path) {
  return read_record<JobSpec>(value, path);
}

Result<JobSpec> read_job_spec(const json::Value& value, const std::string& path) {
  Result<json::Reader> reader = json::Reader::of(value, "");
  if (!reader.ok()) return detail::inside(path, std::move(reader).error());
  JobSpec spec;
  Decoder decoder(*reader);
  Fields<JobSpec>::visit(decoder, spec);
  Result<void> done = decoder.finish();
  if (!done.ok()) return detail::inside(path, std::move(done).error());
  return spec;
}

Result<NodeInfo> decode_node_info(const json::Value& value, const std::string& path) {
  return read_record<NodeInfo>(value, path);
}

Result<RankReport> decode_rank_report(const json::Value& value, const std::string& path) {
  return read_record<RankReport>(value, path);
}

std::string encode_text(const JobSpec& value) {
  std::string text;
  json::Writer out(text);
  encode(out, value);
  return text;
}

}  // namespace runnel::model
