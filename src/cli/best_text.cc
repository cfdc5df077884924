#include "cli/best_text.h"

#include "cli/members_text.h"
#include "cli/print.h"

namespace runnel::cli {
namespace {

const json::Value* best_of(const json::Value& step) {
  const json::Value* search = step.find("search");
  if (search == nullptr || !has_one_best(*search)) return nullptr;
  return search->find("best");
}

}  // namespace

bool has_one_best(const json::Value& search) { return list_at(search, "objectives").size() < 2; }

std::string best_line(const json::Value& step) {
  const std::string name = text_of(step, "name");
  const json::Value* search = step.find("search");
  if (search != nullptr && !has_one_best(*search) && search->find("best") != nullptr) {
    return "best of " + name + ": a front of several trials, marked in `runnel study show`";
  }
  const json::Value* best = best_of(step);
  if (best == nullptr) return "";
  return "best of " + name + ": trial " + std::to_string(number_of(*best, "trial")) + ", " +
         members_text(best->find("values")) + " with " + members_text(best->find("params"));
}

std::string best_so_far(const json::Value& step) {
  const json::Value* best = best_of(step);
  if (best == nullptr) return "";
  return "best " + members_text(best->find("values")) + " (trial " +
         std::to_string(number_of(*best, "trial")) + ")";
}

}  // namespace runnel::cli
