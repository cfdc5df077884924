#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/spec.h"

namespace runnel::agent {

// The values of a job's secrets, found at the start of each attempt.
//
// An "env:NAME" source was read in the submitting shell; its value waits in `<home>/secrets/<job>`,
// a JSON object by source, which control writes and wipes. A "file:/path" source is read now,
// without its last newline. Values never appear in errors.

inline constexpr std::int64_t kSecretBytesMax = 65'536;

// What has to be read, and how much of it at most. Whoever reads decides how long to wait for it.
std::map<std::string, Bytes> secret_files(const std::string& home, const JobId& job,
                                          const std::vector<model::SecretRef>& secrets);

// What came of reading each of them.
using SecretTexts = std::map<std::string, Result<std::string>>;

Result<std::vector<std::pair<std::string, std::string>>> secret_values(
    const std::string& home, const JobId& job, const std::vector<model::SecretRef>& secrets,
    const SecretTexts& texts);

}  // namespace runnel::agent
