// Bodies and parameters as anybody may send them: an error at worst, and what is taken can be
// stored and read back.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "control/api/queries.h"
#include "control/submission.h"
#include "http/message.h"
#include "model/codec.h"

namespace {

using namespace runnel;

void take_submission(std::string_view body) {
  auto read = control::read_submission(body, "owner");
  if (!read.ok()) {
    CHECK(!read.error().message.empty(), "an error says nothing");
    return;
  }
  CHECK(read->fingerprint.size() == 64, "a fingerprint is a digest");
  const std::string text = model::encode_text(*read->spec);
  const json::Value value = MUST(json::parse(text));
  const model::JobSpec again = MUST(model::decode_job_spec(value, "spec"));
  CHECK(again == *read->spec, "a specification that was taken does not read back");
}

void take_query(std::string_view target) {
  http::Request request;
  if (!http::parse_target(target, request).ok()) return;
  (void)control::read_query<control::JobListQuery>(request);
  (void)control::read_query<control::EventsQuery>(request);
  (void)control::read_query<control::LogsQuery>(request);
  (void)control::read_query<control::PreemptQuery>(request);
  const auto tasks = control::read_query<control::TaskListQuery>(request);
  if (!tasks.ok()) return;
  CHECK(MUST(control::TaskPlace::parse(tasks->from.token())) == tasks->from,
        "a page token changes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0: take_submission(text); break;
    case 1: (void)runnel::control::read_call(text); break;
    default: take_query(text); break;
  }
  return 0;
}
