#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/session.h"
#include "json/value.h"

namespace runnel::cli {

// Rows of a list of the API, page after page until there are `limit` or no more: one document, with
// the list under `key` and, where it was cut, the "next_page_token" of what follows.
Result<json::Value> read_pages(Session& session, const std::string& target, const std::string& key,
                               std::int64_t limit);

// All of them: what a study or a job's metrics are made of.
inline constexpr std::int64_t kAllRows = std::int64_t{1} << 40;

// Tells whoever got a list that `limit` has cut.
void tell_of_more(const json::Value& pages, std::int64_t limit);

}  // namespace runnel::cli
