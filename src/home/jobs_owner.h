#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "home/home.h"

namespace runnel::home {

// What a `jobs` folder says of whose it is. It may be a link to a large disk, which a copy of the
// home then leads to as well: files of the one must not be taken for leftovers of the other.
struct JobsMark {
  std::string home_id;
  std::string path;  // That home's when it opened the folder last.

  friend bool operator==(const JobsMark&, const JobsMark&) = default;
};

enum class JobsOwner : std::uint8_t { kOurs, kAnother };

// A folder without a mark is of the first home that opens it. `in_use_there`: the path in the mark
// leads to another home than ours, with this very jobs folder; a copy has the id of its original.
JobsOwner owner_of(const std::optional<JobsMark>& mark, const std::string& home_id,
                   bool in_use_there);

std::string mark_text(const JobsMark& mark);
// Nothing for a text that is damaged.
std::optional<JobsMark> parse_mark(std::string_view text);

// Refuses the jobs folder of another home, with the remedy. `before`: where the home was when it
// was opened last, or "": a lost identity is found again in the mark of that place.
Result<void> refuse_jobs_of_another(const Home& home, const std::string& before);

// Marks the jobs folder as this home's. Refuses as above.
Result<void> take_jobs(const Home& home, const std::string& before);

// Gives a copy an id of its own, and its jobs folder the mark. Refuses, and changes nothing, when
// that folder is the one of the original.
Result<void> adopt_jobs(const Home& home, const Home& original);

}  // namespace runnel::home
