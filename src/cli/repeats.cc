#include "cli/repeats.h"

#include <algorithm>

#include "base/check.h"

namespace runnel::cli {
namespace {

std::string source_of(const json::Value& line) {
  std::string source;
  for (const char* part : {"step", "task", "attempt", "rank", "stream"}) {
    const json::Value* value = line.find(part);
    if (value != nullptr) source += value->dump();
    source += ' ';
  }
  return source;
}

}  // namespace

bool Repeats::told_before(const json::Value& line, bool has_cursor) {
  const auto entry = sources_.try_emplace(source_of(line)).first;
  Source& source = entry->second;
  CHECK(source.read >= 0 && source.told >= 0, "lines of output are counted below zero");
  const bool before = ++source.read <= source.told;
  source.told = std::max(source.told, source.read);
  if (has_cursor) {
    source.told -= source.read;
    source.read = 0;
    if (source.told == 0) sources_.erase(entry);
  }
  return before;
}

void Repeats::broke() {
  for (auto& [name, source] : sources_) source.read = 0;
}

}  // namespace runnel::cli
