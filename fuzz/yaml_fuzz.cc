// Any text at all: the readers of job files and node files give a sound model or errors, and never
// crash, hang or throw.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "model/codec.h"
#include "spec/job_file.h"
#include "spec/nodes_file.h"

namespace {

void read_job(std::string_view text) {
  runnel::spec::ParseContext context;
  context.envs = {{"GIVEN", "{{value}}"}};
  runnel::spec::JobFileReport report = runnel::spec::parse_job_file_all(text, context);
  CHECK(report.spec.has_value() == report.errors.empty(), "a job or errors, never both or neither");
  for (const runnel::Error& error : report.errors) {
    CHECK(!error.to_string().empty(), "an error says something");
    CHECK(error.where.known(), "an error of a file has a place");
    // What the model refuses is refused here first, with its place and in the file's words.
    CHECK(!error.hint.empty(), "an error of a file says what to do");
  }
  if (!report.spec) return;
  const auto document = runnel::json::parse(runnel::model::encode_text(*report.spec));
  CHECK(document.ok(), "a job is JSON");
  const auto decoded = runnel::model::decode_job_spec(*document, "");
  CHECK(decoded.ok(), decoded.ok() ? "" : decoded.error().to_string());
  CHECK(*decoded == *report.spec, "a job reads back the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  read_job(text);
  const auto nodes = runnel::spec::parse_nodes_file(text, "nodes.yaml");
  CHECK(nodes.ok() || nodes.error().where.known(), "an error of a file has a place");
  return 0;
}
