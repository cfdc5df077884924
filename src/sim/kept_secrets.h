#pragma once

#include <set>
#include <vector>

#include "control/secrets.h"

namespace runnel::sim {

// The home's secrets on the simulated disk.
class KeptSecrets final : public control::Secrets {
 public:
  Result<void> put(const JobId& job, const control::SecretValues& values, Taken taken) override {
    values_[job] = values;
    if (taken == Taken::kNotYet) asked_.insert(job);
    return {};
  }
  Result<void> settle(const JobId& job) override {
    asked_.erase(job);
    return {};
  }
  Result<void> wipe(const JobId& job) override {
    values_.erase(job);
    asked_.erase(job);
    return {};
  }
  Result<std::vector<JobId>> jobs() override {
    std::vector<JobId> jobs;
    jobs.reserve(values_.size());
    for (const auto& [job, values] : values_) jobs.push_back(job);
    return jobs;
  }
  bool is_unsettled(const JobId& job) override { return asked_.contains(job); }

 private:
  std::map<JobId, control::SecretValues> values_;
  std::set<JobId> asked_;
};

}  // namespace runnel::sim
