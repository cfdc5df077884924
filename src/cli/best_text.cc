#include "cli/best_text.h"

#include <string_view>

#include "base/ascii_case.h"
#include "cli/members_text.h"
#include "cli/print.h"

namespace runnel::cli {
namespace {

// The value that a search for one thing has under the key.
const json::Value* found_at(const json::Value& step, std::string_view key) {
  const json::Value* search = step.find("search");
  if (search == nullptr || !has_one_best(*search)) return nullptr;
  return search->find(key);
}

// "paused"
std::string status_word(const json::Value& trial) { return to_lower(text_of(trial, "status")); }

}  // namespace

bool has_one_best(const json::Value& search) { return list_at(search, "objectives").size() < 2; }

std::string best_line(const json::Value& step) {
  const std::string name = text_of(step, "name");
  const json::Value* search = step.find("search");
  if (search != nullptr && !has_one_best(*search) && search->find("best") != nullptr) {
    return "best of " + name + ": a front of several trials, marked in `runnel study show`";
  }
  if (const json::Value* best = found_at(step, "best")) {
    return "best of " + name + ": trial " + std::to_string(number_of(*best, "trial")) + ", " +
           members_text(best->find("values")) + " with " + members_text(best->find("params"));
  }
  const json::Value* leader = found_at(step, "best_so_far");
  if (leader == nullptr) return "";
  return "best of " + name + " so far: " + leader_text(*leader) + " with " +
         members_text(leader->find("params"));
}

std::string short_best(const json::Value& step) {
  if (const json::Value* best = found_at(step, "best")) {
    return "best " + members_text(best->find("values")) + " (trial " +
           std::to_string(number_of(*best, "trial")) + ")";
  }
  const json::Value* leader = found_at(step, "best_so_far");
  return leader == nullptr ? "" : "best so far " + leader_text(*leader);
}

std::string leader_text(const json::Value& leader) {
  return members_text(leader.find("values")) + " (trial " +
         std::to_string(number_of(leader, "trial")) + ", step " +
         std::to_string(number_of(leader, "step")) + ", " + status_word(leader) + ")";
}

}  // namespace runnel::cli
