#include "agent/gpu_sampler.h"

#include <gtest/gtest.h>

#include "agent/device_look.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::agent {
namespace {

constexpr Duration kNow = Duration::hours(1);

class GpuSamplerTest : public ::testing::Test {
 protected:
  void shows(const DeviceLook& look) const {
    MUST(env::write_file_atomically(folder_.file("look"), look_text(look)));
  }

  const env::testing::TemporaryDirectory folder_;
  // What it is asked for beside the look stands behind the script.
  GpuSampler sampler_{{"sh", "-c", "test \"$0\" = --processes && cat " + folder_.file("look")}};
};

TEST_F(GpuSamplerTest, AddsUpAProcessOverTheGpus) {
  DeviceLook look;
  look.processes = {{4'711, 93, Bytes::gibi(10)}, {4'711, 7, Bytes::mebi(512)}, {12, 0, {}}};
  shows(look);
  EXPECT_EQ(sampler_.sample(kNow), (GpuSample{{12, {0, {}}}, {4'711, {100, Bytes::mebi(10'752)}}}));
}

TEST_F(GpuSamplerTest, AnIdleGpuHasNoProcess) {
  shows({});
  EXPECT_EQ(sampler_.sample(kNow), GpuSample());
}

TEST_F(GpuSamplerTest, FilesAloneAndADriverWithoutAnAnswerSayNothing) {
  EXPECT_EQ(sampler_.sample(kNow), std::nullopt) << "there is no look";
  DeviceLook look;
  look.by = DeviceLook::By::kFiles;
  shows(look);
  EXPECT_EQ(sampler_.sample(kNow + GpuSampler::kFresh), std::nullopt);
  look.by = DeviceLook::By::kNvml;
  look.problem = "NVML does not start: Driver Not Loaded";
  shows(look);
  EXPECT_EQ(sampler_.sample(kNow + GpuSampler::kFresh * 2), std::nullopt);
  EXPECT_EQ(GpuSampler({}).sample(kNow), std::nullopt) << "nobody is asked";
}

TEST_F(GpuSamplerTest, AFreshAnswerServesAgain) {
  shows({});
  ASSERT_EQ(sampler_.sample(kNow), GpuSample());
  DeviceLook look;
  look.processes = {{12, 5, {}}};
  shows(look);
  EXPECT_EQ(sampler_.sample(kNow + Duration::millis(999)), GpuSample());
  EXPECT_EQ(sampler_.sample(kNow + GpuSampler::kFresh), (GpuSample{{12, {5, {}}}}));
}

}  // namespace
}  // namespace runnel::agent
