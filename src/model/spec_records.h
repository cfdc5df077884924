#pragma once

#include <memory>

#include "model/detail/words.h"
#include "model/records.h"

// The stored form of a specification.
namespace runnel::model {

constexpr detail::Words<4> kParameterKindWords = {"choice", "range", "uniform", "loguniform"};

inline std::string_view to_string(Parameter::Kind kind) {
  return detail::word_of(kind, kParameterKindWords);
}

inline Result<Parameter::Kind> parse_parameter_kind(std::string_view word) {
  return detail::parse_word<Parameter::Kind>(word, kParameterKindWords, "a kind of parameter");
}

template <>
struct Form<Parameter::Kind> : WordForm<Parameter::Kind, parse_parameter_kind> {};

template <>
struct Fields<Parameter> {
  static void visit(auto& visit, auto& parameter) {
    visit("high", parameter.high);
    visit("kind", parameter.kind);
    visit("low", parameter.low);
    visit("name", parameter.name, Required());
    visit("values", parameter.values);
  }
};

template <>
struct Fields<RetryPolicy> {
  static void visit(auto& visit, auto& retry) {
    visit("backoff_max", retry.backoff_max);
    visit("backoff_min", retry.backoff_min);
    visit("max", retry.max);
    visit("on_events", retry.on_events);
    visit("on_exit_codes", retry.on_exit_codes);
  }
};

template <>
struct Fields<CheckpointPolicy> {
  static void visit(auto& visit, auto& checkpoint) {
    visit("dir", checkpoint.dir);
    visit("every", checkpoint.every);
    visit("exit_code", checkpoint.exit_code);
  }
};

template <>
struct Fields<SecretRef> {
  static void visit(auto& visit, auto& secret) {
    visit("name", secret.name, Required());
    visit("source", secret.source, Required());
  }
};

template <>
struct Fields<StepSpec> {
  static constexpr Number kOne = {.min = 1, .fallback = 1};

  static void visit(auto& visit, auto& step) {
    visit("checkpoint", step.checkpoint);
    visit("command", step.command);
    visit("depends_on", step.depends_on);
    visit("envs", step.envs, AsObject());
    visit("grace", step.grace, Number{.fallback = 30'000});
    visit("max_duration", step.max_duration);
    visit("max_log", step.max_log, Number{.fallback = 1'073'741'824});
    visit("name", step.name, Required());
    visit("num_nodes", step.num_nodes, kOne);
    visit("parallel", step.parallel);
    visit("params", step.params);
    visit("procs_per_node", step.procs_per_node, kOne);
    visit("resources", step.resources);
    visit("retry", step.retry);
    visit("run", step.run);
    visit("samples", step.samples);
    visit("secrets", step.secrets);
    visit("task_count", step.task_count, kOne);
    visit("whole_node", step.whole_node);
  }
};

template <>
struct Fields<JobSpec> {
  static void visit(auto& visit, auto& spec) {
    visit("environment", spec.environment, AsObject());
    visit("name", spec.name);
    visit("priority", spec.priority, kAnyNumber);
    visit("seed", spec.seed, kAnyNumber);
    visit("steps", spec.steps, Required());
    visit("workdir", spec.workdir);
  }
  static Result<void> check(const JobSpec& spec) { return check_spec(spec); }
};

// A submission without one is our bug on the way out, and a missing field on the way in.
template <>
struct Form<std::shared_ptr<const JobSpec>> {
  static void write(json::Writer& out, const std::shared_ptr<const JobSpec>& spec) {
    CHECK(spec != nullptr, "a job without its specification is stored");
    write_record(out, *spec);
  }
  static Result<void> read(const json::Value& json, std::shared_ptr<const JobSpec>& spec) {
    spec = std::make_shared<const JobSpec>(TRY(read_record<JobSpec>(json)));
    return {};
  }
};

}  // namespace runnel::model
