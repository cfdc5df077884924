// The overlay against a model of files that knows none of its means: what programs see, and what
// each version gets, under random changes, publishes, checkpoints and replays.

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "writing/testing/random_branch.h"

namespace runnel::writing {
namespace {

class MemoryLog final : public testing::BranchLog {
 public:
  LoggedRecord append(Record record) override {
    LoggedRecord logged;
    logged.record = std::move(record);
    if (const auto* const write = std::get_if<Write>(&logged.record.change)) bytes_ += write->bytes;
    logged.sequence = ++sequence_;
    logged.end = {.file = {DataFile::Kind::kSegment, 1}, .offset = bytes_.size()};
    records_.push_back(logged);
    return logged;
  }
  std::string read(DataPlace place, std::size_t length) const override {
    return bytes_.substr(place.offset, length);
  }
  void begin_anew(const std::function<std::vector<Record>()>& checkpoint,
                  const RecordVisitor& visit) override {
    records_.clear();
    for (Record& record : checkpoint()) MUST(visit(append(std::move(record))));
  }
  void replay(const RecordVisitor& visit) override {
    for (const LoggedRecord& logged : records_) MUST(visit(logged));
  }

 private:
  std::vector<LoggedRecord> records_;
  std::string bytes_;
  Sequence sequence_ = 0;
};

// RUNNEL_OVERLAY_STEPS: so many in all, looked at after each 16th.
TEST(OverlayModelTest, ProgramsSeeAndVersionsGetWhatTheModelSays) {
  constexpr std::uint64_t kStepsOfASeed = 1'000;
  const char* const asked = std::getenv("RUNNEL_OVERLAY_STEPS");
  const std::uint64_t seeds = asked != nullptr ? std::stoull(asked) / kStepsOfASeed : 20;
  std::uint64_t published = 0;
  std::uint64_t forgotten = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    MemoryLog log;
    testing::RandomBranch branch(seed, log);
    for (std::uint64_t step = 0; step < kStepsOfASeed; ++step) {
      branch.step();
      if (step % 16 == 15) branch.expect_as_modelled();
      if (::testing::Test::HasFailure()) return;
    }
    published += branch.published();
    forgotten += branch.forgotten();
  }
  EXPECT_GT(published, seeds * 10);
  EXPECT_GT(forgotten, seeds * 10);
}

}  // namespace
}  // namespace runnel::writing
