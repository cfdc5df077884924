// A sampler to talk to, for bench/search_quality.py: a space and a method on standard input, then
// `ask` and `tell VALUE...` in turn. Each ask is answered by a line name=value name=value; `end` by
// the nanoseconds that an ask has cost, its tell included.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "search/sampler.h"

namespace {

using namespace runnel;  // NOLINT: a bench is a leaf.
using model::Parameter;
using model::SearchSpec;
using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
  std::istringstream in(line);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

template <typename Number>
Number number(const std::string& text) {
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  CHECK(problem == std::errc() && end == text.data() + text.size(), "not a number: " + text);
  return value;
}

// choice NAME VALUES... | range NAME LOW HIGH [log] | uniform NAME LOW HIGH [STEP] |
// loguniform NAME LOW HIGH
Parameter parameter_of(const Words& words) {
  const std::map<std::string, Parameter::Kind> kinds = {
      {"choice", Parameter::Kind::kChoice},
      {"range", Parameter::Kind::kRange},
      {"uniform", Parameter::Kind::kUniform},
      {"loguniform", Parameter::Kind::kLogUniform}};
  Parameter parameter{.name = words.at(1), .kind = kinds.at(words.at(0))};
  if (parameter.kind == Parameter::Kind::kChoice) {
    parameter.values.assign(words.begin() + 2, words.end());
    return parameter;
  }
  parameter.low = words.at(2);
  parameter.high = words.at(3);
  parameter.log = words.back() == "log";
  if (words.size() > 4 && !parameter.log) parameter.step = words[4];
  return parameter;
}

SearchSpec::Method method_of(const std::string& word) {
  const std::map<std::string, SearchSpec::Method> methods = {
      {"auto", SearchSpec::Method::kAuto}, {"random", SearchSpec::Method::kRandom},
      {"tpe", SearchSpec::Method::kTpe},   {"cma_es", SearchSpec::Method::kCmaEs},
      {"gp", SearchSpec::Method::kGp},     {"nsga2", SearchSpec::Method::kNsga2},
      {"grid", SearchSpec::Method::kGrid}};
  return methods.at(word);
}

void answer(const search::Texts& texts) {
  for (const auto& [name, value] : texts) std::cout << name << '=' << value << ' ';
  std::cout << '\n' << std::flush;
}

// begin METHOD MAX_TRIALS SEED
void study(const std::vector<Parameter>& params, const Words& begin) {
  SearchSpec spec;
  spec.method = method_of(begin.at(1));
  spec.objectives.resize(1);
  spec.max_trials = number<std::int64_t>(begin.at(2));
  const search::Space space(params);
  const auto sampler = search::make_sampler(
      {.search = &spec, .space = &space, .seed = number<std::uint64_t>(begin.at(3))});
  std::chrono::nanoseconds spent{};
  std::int64_t trials = 0;
  for (std::string line; std::getline(std::cin, line) && line != "end";) {
    const Words words = words_of(line);
    const auto start = std::chrono::steady_clock::now();
    if (words.at(0) == "ask") {
      const search::Point point = sampler->suggest(trials);
      sampler->asked(trials, point);
      spent += std::chrono::steady_clock::now() - start;
      answer(space.texts(point));
      ++trials;
    } else {
      sampler->told(trials - 1, {.values = {number<double>(words.at(1))}});
      spent += std::chrono::steady_clock::now() - start;
    }
  }
  std::cout << spent.count() / std::max<std::int64_t>(trials, 1) << '\n';
}

}  // namespace

int main() {
  std::vector<Parameter> params;
  for (std::string line; std::getline(std::cin, line);) {
    const Words words = words_of(line);
    if (words.at(0) == "begin") {
      study(params, words);
      return 0;
    }
    if (words.at(0) == "when") {  // when PARENT VALUES...: of the parameter before.
      params.back().when = Parameter::Condition{words.at(1), {words.begin() + 2, words.end()}};
    } else {
      params.push_back(parameter_of(words));
    }
  }
  return 1;
}
