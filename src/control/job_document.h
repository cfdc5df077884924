#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "brain/state.h"
#include "json/writer.h"

namespace runnel::control {

// How much of a job its document tells.
enum class JobView : std::uint8_t {
  kRow,       // No steps: one line of a list, whatever the job's size.
  kFull,      // With steps. What lists of the archive keep.
  kWithSpec,  // With the specification as well.
};

// A moment that came; nothing for one that did not.
void write_time(json::Writer& out, std::string_view key, Time time);

// `values`: an objective's value by its metric, a number where it is one.
void write_values(json::Writer& out, const model::SearchSpec& search,
                  const brain::TrialReport& report);

// The document of a job as GET answers it and as the archive lists it: canonical JSON. Members that
// say nothing (no start yet, no message) are left out. O(steps), never O(tasks).
// `progress`: progress_document()'s answer, or empty.
void write_job(json::Writer& out, const brain::Job& job, EventSeq version, JobView view,
               const std::string& progress = "");
std::string job_document(const brain::Job& job, EventSeq version, JobView view = JobView::kFull,
                         const std::string& progress = "");

}  // namespace runnel::control
