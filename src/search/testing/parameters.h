#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/spec.h"

// Parameters in one line, for tests.
namespace runnel::search::testing {

inline model::Parameter choice(std::string name, std::vector<std::string> values) {
  return {.name = std::move(name),
          .kind = model::Parameter::Kind::kChoice,
          .values = std::move(values)};
}

inline model::Parameter between(model::Parameter::Kind kind, std::string name, std::string low,
                                std::string high) {
  return {.name = std::move(name), .kind = kind, .low = std::move(low), .high = std::move(high)};
}

inline model::Parameter range(std::string name, std::string low, std::string high) {
  return between(model::Parameter::Kind::kRange, std::move(name), std::move(low), std::move(high));
}

inline model::Parameter log_range(std::string name, std::string low, std::string high) {
  model::Parameter parameter = range(std::move(name), std::move(low), std::move(high));
  parameter.log = true;
  return parameter;
}

inline model::Parameter uniform(std::string name, std::string low, std::string high,
                                std::string step = "") {
  model::Parameter parameter =
      between(model::Parameter::Kind::kUniform, std::move(name), std::move(low), std::move(high));
  parameter.step = std::move(step);
  return parameter;
}

inline model::Parameter loguniform(std::string name, std::string low, std::string high) {
  return between(model::Parameter::Kind::kLogUniform, std::move(name), std::move(low),
                 std::move(high));
}

// Takes part only while the choice has one of the values.
inline model::Parameter when(model::Parameter parameter, std::string choice,
                             std::vector<std::string> values) {
  parameter.when = model::Parameter::Condition{std::move(choice), std::move(values)};
  return parameter;
}

// One of each kind, two of them with conditions, one of these inside the other.
inline std::vector<model::Parameter> mixed_parameters() {
  return {choice("optimizer", {"sgd", "adam", "lamb"}),
          loguniform("rate", "1e-5", "1"),
          when(uniform("momentum", "0", "0.99"), "optimizer", {"sgd"}),
          when(choice("schedule", {"flat", "cosine"}), "optimizer", {"adam", "lamb"}),
          when(range("warmup", "0", "20"), "schedule", {"cosine"}),
          log_range("width", "16", "1024"),
          uniform("dropout", "0", "0.6", "0.05")};
}

}  // namespace runnel::search::testing
