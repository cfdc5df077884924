#include "model/store_variables.h"

#include <algorithm>
#include <array>

namespace runnel::model {
namespace {

constexpr std::array<std::string_view, 11> kStoreVariables = {"AWS_ACCESS_KEY_ID",
                                                              "AWS_CA_BUNDLE",
                                                              "AWS_CONFIG_FILE",
                                                              "AWS_DEFAULT_REGION",
                                                              "AWS_ENDPOINT_URL",
                                                              "AWS_ENDPOINT_URL_S3",
                                                              "AWS_PROFILE",
                                                              "AWS_REGION",
                                                              "AWS_SECRET_ACCESS_KEY",
                                                              "AWS_SESSION_TOKEN",
                                                              "AWS_SHARED_CREDENTIALS_FILE"};
static_assert(std::is_sorted(kStoreVariables.begin(), kStoreVariables.end()));

constexpr std::string_view kShellSource = "env:";

}  // namespace

std::span<const std::string_view> store_variables() { return kStoreVariables; }

bool is_store_source(std::string_view source) {
  return source.starts_with(kShellSource) &&
         std::binary_search(kStoreVariables.begin(), kStoreVariables.end(),
                            source.substr(kShellSource.size()));
}

bool reads_a_bucket(const std::vector<VolumeUse>& volumes) {
  return std::any_of(volumes.begin(), volumes.end(), [](const VolumeUse& use) {
    return use.linked || use.store.starts_with("s3://");
  });
}

bool reads_a_bucket(const JobSpec& spec) {
  return std::any_of(spec.steps.begin(), spec.steps.end(),
                     [](const StepSpec& step) { return reads_a_bucket(step.volumes); });
}

}  // namespace runnel::model
