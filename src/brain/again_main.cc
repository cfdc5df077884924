// Decides logs again that another build has written: `sim_campaign --logs N | brain_again`. It
// reads lines with tabs between their fields: "log", finished_jobs, key_life in ms (its limits);
// "batch", now in ms, input, events; "state" and the hash of the state's text; "end" and how many
// logs.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "brain/brain.h"
#include "brain/decide_again.h"
#include "hash/sha256.h"

namespace {

using runnel::brain::Brain;

struct Count {
  long long logs = 0;
  long long batches = 0;
};

[[noreturn]] void fail(const Count& at, const std::string& why) {
  std::fprintf(stderr, "brain_again: log %lld, batch %lld: %s\n", at.logs, at.batches, why.c_str());
  std::exit(1);
}

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = line.find('\t');
    fields.emplace_back(line.substr(0, end));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  return fields;
}

runnel::brain::Limits limits_of(const std::vector<std::string>& fields) {
  return {std::stoull(fields.at(1)), runnel::Duration::millis(std::stoll(fields.at(2)))};
}

void decide(Brain& brain, const std::vector<std::string>& fields, const Count& at) {
  const auto now = runnel::Time::from_millis(std::stoll(fields.at(1)));
  const auto events = runnel::brain::decide_again(brain, fields.at(2), now);
  if (!events.ok()) fail(at, events.error().to_string());
  if (*events != fields.at(3)) fail(at, "is decided otherwise: " + *events);
}

}  // namespace

int main() {
  Count count;
  std::unique_ptr<Brain> brain;
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields[0] == "log") {
      ++count.logs;
      brain = std::make_unique<Brain>(runnel::brain::State(), limits_of(fields));
    } else if (fields[0] == "batch") {
      ++count.batches;
      decide(*brain, fields, count);
    } else if (fields[0] == "state") {
      const std::string state = runnel::brain::encode_state(brain->state());
      if (runnel::hash::sha256_hex(state) != fields.at(1)) fail(count, "leads to another state");
    } else if (fields[0] == "end" && std::stoll(fields.at(1)) == count.logs) {
      std::printf("%lld logs with %lld batches were decided again, all to the same\n", count.logs,
                  count.batches);
      return 0;
    }
  }
  fail(count, "the logs end too early");
}
