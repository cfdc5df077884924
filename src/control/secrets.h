#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace runnel::control {

// The values of a job's secrets by their sources, "env:NAME": what two steps call by one name may
// be two secrets.
using SecretValues = std::map<std::string, std::string>;

inline constexpr std::size_t kSecretBytesMax = 65'536;
inline constexpr std::size_t kSecretsMax = 1'000;

// Keeps the values of jobs' secrets until the jobs end, apart from everything that is logged.
//
// Contract: put() is durable when it returns and replaces what was there; wipe() is idempotent.
//           Values never appear in errors. What was put before its submission was taken is told
//           apart until settle(): who died between the two leaves values that no log ever named.
// Threads:  blocking; one call at a time, on the log writer's worker.
// Why:      an event is for ever, a secret is not: values never enter inputs, events or answers.
class Secrets {
 public:
  virtual ~Secrets() = default;
  enum class Taken : std::uint8_t { kNotYet, kYes };
  virtual Result<void> put(const JobId& job, const SecretValues& values, Taken taken) = 0;
  // The submission is in the log.
  virtual Result<void> settle(const JobId& job) = 0;
  virtual Result<void> wipe(const JobId& job) = 0;
  // The jobs that have values now.
  virtual Result<std::vector<JobId>> jobs() = 0;
  // Whether nobody has said yet that the submission of `job`, one of jobs(), was taken.
  virtual bool is_unsettled(const JobId& job) = 0;
};

// One file per job below `<home>/secrets`, named by the id, mode 0600: {"env:NAME":"value",...},
// and an empty `ID.asked` beside it until its submission was taken.
class FileSecrets final : public Secrets {
 public:
  explicit FileSecrets(std::string folder) : folder_(std::move(folder)) {}
  Result<void> put(const JobId& job, const SecretValues& values, Taken taken) override;
  Result<void> settle(const JobId& job) override;
  Result<void> wipe(const JobId& job) override;
  Result<std::vector<JobId>> jobs() override;
  bool is_unsettled(const JobId& job) override;

  // None when none are kept; kCorrupt for a file that put() did not write. Any thread.
  Result<SecretValues> values(const JobId& job) const;
  std::string path_of(const JobId& job) const;

 private:
  std::string mark_of(const JobId& job) const;
  std::string folder_;
};

}  // namespace runnel::control
