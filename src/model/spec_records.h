#pragma once

#include <memory>

#include "model/check_spec.h"
#include "model/detail/words.h"
#include "model/records.h"
#include "model/spec_words.h"

// The stored form of a specification.
namespace runnel::model {

inline std::string_view to_string(Parameter::Kind kind) {
  return detail::word_of(kind, kParameterKindWords);
}

inline Result<Parameter::Kind> parse_parameter_kind(std::string_view word) {
  return detail::parse_word<Parameter::Kind>(word, kParameterKindWords, "a kind of parameter");
}

template <>
struct Form<Parameter::Kind> : WordForm<Parameter::Kind, parse_parameter_kind> {};

inline std::string_view to_string(SearchSpec::Method method) {
  return detail::word_of(method, kSearchMethodWords);
}

inline Result<SearchSpec::Method> parse_search_method(std::string_view word) {
  return detail::parse_word<SearchSpec::Method>(word, kSearchMethodWords, "a method of search");
}

inline std::string_view to_string(PrunerSpec::Kind kind) {
  return detail::word_of(kind, kPrunerKindWords);
}

inline Result<PrunerSpec::Kind> parse_pruner_kind(std::string_view word) {
  return detail::parse_word<PrunerSpec::Kind>(word, kPrunerKindWords, "a pruner");
}

template <>
struct Form<SearchSpec::Method> : WordForm<SearchSpec::Method, parse_search_method> {};
template <>
struct Form<PrunerSpec::Kind> : WordForm<PrunerSpec::Kind, parse_pruner_kind> {};

inline std::string_view to_string(VolumeMode mode) {
  return detail::word_of(mode, kVolumeModeWords);
}

inline Result<VolumeMode> parse_volume_mode(std::string_view word) {
  return detail::parse_word<VolumeMode>(word, kVolumeModeWords, "a mode of a volume");
}

template <>
struct Form<VolumeMode> : WordForm<VolumeMode, parse_volume_mode> {};

template <>
struct Fields<Parameter::Condition> {
  static void visit(auto& visit, auto& condition) {
    visit("parameter", condition.parameter, Required());
    visit("values", condition.values);
  }
};

template <>
struct Fields<Parameter> {
  static void visit(auto& visit, auto& parameter) {
    visit("high", parameter.high);
    visit("kind", parameter.kind);
    visit("log", parameter.log);
    visit("low", parameter.low);
    visit("name", parameter.name, Required());
    visit("step", parameter.step);
    visit("values", parameter.values);
    visit("when", parameter.when);
  }
};

template <>
struct Fields<Objective> {
  static void visit(auto& visit, auto& objective) {
    visit("maximize", objective.maximize);
    visit("metric", objective.metric, Required());
  }
};

template <>
struct Fields<PrunerSpec> {
  static void visit(auto& visit, auto& pruner) {
    visit("eta", pruner.eta, Number{.min = kEtaLimits.low, .fallback = 4});
    visit("every", pruner.every, Number{.min = 1, .fallback = 1});
    visit("kind", pruner.kind);
    visit("max_step", pruner.max_step);
    visit("min_step", pruner.min_step, Number{.min = 1, .fallback = 1});
    visit("startup_trials", pruner.startup_trials, Number{.min = 1, .fallback = 5});
  }
};

template <>
struct Fields<PopulationSpec> {
  static constexpr Number kQuantile = {
      .min = kQuantileLimits.low, .max = kQuantileLimits.high, .fallback = 25};

  static void visit(auto& visit, auto& population) {
    visit("every", population.every, Number{.min = 1, .fallback = 1});
    visit("max_step", population.max_step);
    visit("quantile_percent", population.quantile_percent, kQuantile);
    visit("resample_percent", population.resample_percent,
          Number{.max = kResampleLimits.high, .fallback = 25});
  }
};

template <>
struct Fields<EarlierTrial> {
  static void visit(auto& visit, auto& trial) {
    visit("params", trial.params);
    visit("values", trial.values);
  }
};

template <>
struct Fields<SearchSpec> {
  static void visit(auto& visit, auto& search) {
    visit("budget_micros", search.budget, InMillionths{kPriceMax});
    visit("from", search.from);
    visit("max_duration", search.max_duration);
    visit("max_failures", search.max_failures);
    visit("max_trials", search.max_trials, Number{.min = 1});
    visit("method", search.method);
    visit("objectives", search.objectives, Required());
    visit("population", search.population);
    visit("pruner", search.pruner);
    visit("start", search.start);
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
struct Fields<LogPattern> {
  static void visit(auto& visit, auto& pattern) {
    visit("group", pattern.group);
    visit("lines", pattern.lines, Number{.min = 1, .max = kLogPatternLinesMax, .fallback = 1});
    visit("regex", pattern.regex, Required());
    visit("step", pattern.step, Text{"step"});
  }
};

template <>
struct Fields<HangPolicy> {
  static void visit(auto& visit, auto& hang) {
    visit("action", hang.action);
    visit("after", hang.after);
  }
};

template <>
struct Fields<MetricSources> {
  static void visit(auto& visit, auto& sources) {
    visit("log", sources.log);
    visit("tensorboard", sources.tensorboard);
  }
};

template <>
struct Fields<NanPolicy> {
  static void visit(auto& visit, auto& nan) {
    visit("action", nan.action);
    visit("metric", nan.metric);
  }
};

template <>
struct Fields<StragglerPolicy> {
  static void visit(auto& visit, auto& straggler) {
    visit("action", straggler.action);
    visit("factor_permille", straggler.factor_permille, Number{.fallback = 3'000});
  }
};

template <>
struct Fields<HealthPolicy> {
  static void visit(auto& visit, auto& health) {
    visit("hang", health.hang);
    visit("nan", health.nan);
    visit("straggler", health.straggler);
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
struct Fields<VolumeUse> {
  static void visit(auto& visit, auto& use) {
    visit("linked", use.linked);
    visit("mode", use.mode);
    visit("name", use.name, Required());
    visit("store", use.store);
    visit("version", use.version, Text{"latest"});
    visit("volume", use.volume, Required());
  }
};

template <>
struct Fields<StepSpec> {
  static constexpr Number kOne = {.min = 1, .fallback = 1};

  static void visit(auto& visit, auto& step) {
    Command command = step.command() != nullptr ? *step.command() : Command();
    visit("checkpoint", step.checkpoint);
    visit("command", command.argv);
    visit("depends_on", step.depends_on);
    visit("envs", step.envs, AsObject());
    visit("grace", step.grace, Number{.fallback = 30'000});
    visit("health", step.health);
    visit("max_duration", step.max_duration);
    visit("max_log", step.max_log, Number{.fallback = 1'073'741'824});
    visit("metrics", step.metrics);
    visit("name", step.name, Required());
    visit("num_nodes", step.num_nodes, kOne);
    visit("parallel", step.parallel);
    visit("params", step.params);
    visit("procs_per_node", step.procs_per_node, kOne);
    visit("publishes", step.publishes);
    visit("resources", step.resources);
    visit("retry", step.retry);
    visit("run", command.script);
    visit("samples", step.samples);
    visit("search", step.search);
    visit("secrets", step.secrets);
    visit("spot", step.spot);
    visit("task_count", step.task_count, kOne);
    visit("volumes", step.volumes);
    visit("whole_node", step.whole_node);
    if constexpr (detail::kIsRead<decltype(step)>) {
      const bool external = step.search && command == Command();
      step.run = external ? Run(ExternalTrials()) : Run(std::move(command));
    }
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
  static Result<void> check(const JobSpec& spec) { return check_stored(spec); }
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
