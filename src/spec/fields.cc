#include "spec/fields.h"

#include <algorithm>

namespace runnel::spec {
namespace {

Field planned(std::string_view name, std::string_view doc) {
  return {.name = name, .doc = doc, .built = Built::kNotYet};
}

std::vector<Field> make_job_fields() {
  return {
      {.name = "name",
       .form = Form::kText,
       .doc = "What the job is called; the file's name without its ending by default."},
      {.name = "priority", .form = Form::kInteger, .doc = "Higher goes first; 0 by default."},
      {.name = "seed", .form = Form::kInteger, .doc = "Feeds every random draw; 0 by default."},
      {.name = "workdir",
       .form = Form::kText,
       .doc = "Where the commands run, relative to the file; the file's folder by default."},
      {.name = "steps",
       .form = Form::kSteps,
       .doc = "The steps by name. Without it the file is one step, with the step's fields at the "
              "top."},
      {.name = "apiVersion", .form = Form::kText, .doc = "`runnel/v1`, if given."},
      {.name = "kind", .form = Form::kText, .doc = "`Job`, if given."},
      planned("queue", "The queue that the job waits in."),
      planned("project", "The tenant that the job belongs to."),
      planned("file_mounts", "Files copied to each node."),
      planned("compat", "Another system's dialect of environment variables."),
      planned("any_of", "Alternatives to run on."),
      planned("max_price", "The most dollars per hour."),
  };
}

std::vector<Field> make_work_fields() {
  return {
      {.name = "run",
       .form = Form::kLines,
       .doc = "A shell script for `sh -e`, as one text or as a list of lines."},
      {.name = "command",
       .form = Form::kArguments,
       .doc = "A program and its arguments, started without a shell; instead of `run`."},
      {.name = "depends_on",
       .form = Form::kTexts,
       .doc = "The steps that must have succeeded before this one starts.",
       .aliases = {"needs"}},
      {.name = "params",
       .form = Form::kParameters,
       .doc = "Parameters by name: a value, a list, or a range; `{{name}}` stands for the value."},
      {.name = "foreach",
       .form = Form::kValues,
       .doc = "A list of values, one task for each, named `{{item}}`."},
      {.name = "samples",
       .form = Form::kNatural,
       .doc = "How many parameter sets to draw; without it the full grid."},
      {.name = "parallel",
       .form = Form::kNatural,
       .doc = "The most tasks of the step at one time.",
       .aliases = {"workers"},
       .spread = Spread::kDefault},
      {.name = "search",
       .form = Form::kSearch,
       .doc = "Adaptive search over the parameters: each task is a trial. Without `run` and "
              "`command` its trials are given to whoever asks: `runnel study ask`."},
      planned("elastic", "The fewest and the most nodes."),
  };
}

std::vector<Field> make_place_fields() {
  return {
      {.name = "num_nodes",
       .form = Form::kNatural,
       .doc = "Places of a gang, all started together; 1 by default.",
       .spread = Spread::kDefault},
      {.name = "procs_per_node",
       .form = Form::kNatural,
       .doc = "Processes at each place; 1 by default.",
       .spread = Spread::kDefault},
      {.name = "resources",
       .form = Form::kResources,
       .doc = "What each place needs.",
       .spread = Spread::kDefault},
      {.name = "retry",
       .form = Form::kRetry,
       .doc = "When a failed attempt is tried again.",
       .spread = Spread::kDefault},
      {.name = "checkpoint",
       .form = Form::kCheckpoint,
       .doc = "The folder that outlives an attempt.",
       .spread = Spread::kDefault},
      {.name = "metrics",
       .form = Form::kMetrics,
       .doc = "Where metrics are found besides $RUNNEL_METRICS_FILE.",
       .spread = Spread::kDefault},
      {.name = "health",
       .form = Form::kHealth,
       .doc = "What becomes of an attempt with a rank that hangs, lags or reports NaN; nothing is "
              "looked for by default.",
       .spread = Spread::kDefault},
      {.name = "max_duration",
       .form = Form::kDuration,
       .doc = "The longest an attempt may take; no limit by default.",
       .spread = Spread::kDefault},
      {.name = "grace",
       .form = Form::kDuration,
       .doc = "Time between SIGTERM and SIGKILL; 30s by default.",
       .spread = Spread::kDefault},
      {.name = "max_log",
       .form = Form::kBytes,
       .doc = "The most output kept of a rank, its head and its tail; 1GiB by default.",
       .spread = Spread::kDefault},
      {.name = "envs",
       .form = Form::kTextMap,
       .doc = "Environment variables; an empty one must be given at launch with -e.",
       .spread = Spread::kDefault},
      {.name = "secrets",
       .form = Form::kSecrets,
       .doc = "Variables given by reference: `env:NAME` or `file:/path`; a list takes each from "
              "the shell.",
       .spread = Spread::kDefault},
      {.name = "volumes",
       .form = Form::kVolumes,
       .doc = "Volumes to read or write, by name: `{data: fashion}` is the folder "
              "`$RUNNEL_VOLUME_DATA`.",
       .spread = Spread::kDefault},
      planned("ranks", "Resident MPI ranks."),
      planned("image", "A container image."),
      planned("setup", "Commands before `run`."),
      planned("warn", "A signal before the end."),
      planned("infra", "Where to run."),
  };
}

std::vector<Field> joined(std::vector<Field> first, const std::vector<Field>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

const Field* FieldTable::find(std::string_view spelling) const {
  if (spelling.empty()) return nullptr;
  const auto matches = [&](const Field& field) {
    return field.name == spelling || field.aliases[0] == spelling;
  };
  const auto found = std::find_if(fields.begin(), fields.end(), matches);
  return found == fields.end() ? nullptr : &*found;
}

std::vector<std::string_view> FieldTable::built_names() const {
  std::vector<std::string_view> names;
  for (const Field& field : fields) {
    if (field.built == Built::kYes) names.push_back(field.name);
  }
  return names;
}

const FieldTable& job_fields() {
  static const FieldTable kTable{"a job file", make_job_fields()};
  return kTable;
}

const FieldTable& step_fields() {
  static const FieldTable kTable{"a step", joined(make_work_fields(), make_place_fields())};
  return kTable;
}

const FieldTable& top_fields() {
  static const FieldTable kTable{"a job file", joined(job_fields().fields, step_fields().fields)};
  return kTable;
}

const FieldTable& resource_fields() {
  static const FieldTable kTable{
      "`resources`",
      {{.name = "cpus",
        .form = Form::kCpus,
        .doc = "Cores, `0.5` or `16`; 1 a process by default."},
       {.name = "memory", .form = Form::kBytes, .doc = "Main memory, `24GB` or `24GiB`."},
       {.name = "accelerators",
        .form = Form::kAccelerators,
        .doc = "Devices by name and count, `H100:8`."},
       {.name = "spot",
        .form = Form::kBoolean,
        .doc = "Whether it may run on nodes that can be taken away, which it then prefers; "
               "false by default."},
       planned("infra", "Where to run."),
       planned("any_of", "Alternatives to run on."),
       planned("max_price", "The most dollars per hour."),
       planned("disk", "Room on a local disk.")}};
  return kTable;
}

const FieldTable& retry_fields() {
  static const FieldTable kTable{
      "`retry`",
      {{.name = "max",
        .form = Form::kNatural,
        .doc = "How many more attempts failures may cost; a lost node or preemption costs none."},
       {.name = "on_exit_codes", .form = Form::kIntegers, .doc = "Only after these exit codes."},
       {.name = "on_events",
        .form = Form::kTexts,
        .doc = "Only after these: `node_fail`, `timeout`, `out_of_memory`, `failed`."},
       {.name = "backoff",
        .form = Form::kDurations,
        .doc = "The wait before the next attempt, doubling from the first to the second: "
               "`30s..10m`."}}};
  return kTable;
}

const FieldTable& checkpoint_fields() {
  static const FieldTable kTable{
      "`checkpoint`",
      {{.name = "dir",
        .form = Form::kText,
        .doc = "A folder inside the task's own, kept over its attempts; `checkpoint` by default."},
       {.name = "every",
        .form = Form::kDuration,
        .doc = "How often the task should save; told to it in RUNNEL_CHECKPOINT_EVERY."},
       {.name = "exit_code",
        .form = Form::kInteger,
        .doc = "The exit code that says: saved, start me again."},
       planned("keep_best", "How many best checkpoints stay."),
       planned("keep_latest", "How many latest checkpoints stay.")}};
  return kTable;
}

const FieldTable& volume_fields() {
  static const FieldTable kTable{
      "a volume",
      {{.name = "volume", .form = Form::kText, .doc = "As `runnel volume list` shows it."},
       {.name = "version",
        .form = Form::kText,
        .doc = "`latest` (the default), a tag, an id or the beginning of one; the job keeps the id "
               "that it is when the job is submitted."},
       {.name = "store",
        .form = Form::kText,
        .doc = "Where it is, `s3://BUCKET/PREFIX` or `file:///FOLDER`, when this home does not "
               "know it."},
       {.name = "linked",
        .form = Form::kBoolean,
        .doc = "Whether files of it are objects of other buckets; `runnel run` finds it out."},
       {.name = "mode",
        .form = Form::kText,
        .doc = "`ro` (the default) or `rw`: each task writes a branch of its own, and what all of "
               "them wrote is one version once the step has succeeded."}}};
  return kTable;
}

const FieldTable& metric_source_fields() {
  static const FieldTable kTable{
      "`metrics`",
      {{.name = "log",
        .form = Form::kLogPatterns,
        .doc = "Patterns for the output of rank 0, such as `loss = %{FLOAT:loss}`: one, a list, or "
               "by group, `{train: ..., test: ...}`, whose metrics are `train/loss`."},
       {.name = "tensorboard",
        .form = Form::kText,
        .doc = "A folder inside the task's own, `$RUNNEL_TASK_DIR`, whose event files are read."}}};
  return kTable;
}

const FieldTable& log_pattern_fields() {
  static const FieldTable kTable{
      "a pattern",
      {{.name = "regex",
        .form = Form::kText,
        .doc = "A regular expression (RE2) whose named fields are metrics: `%{FLOAT:loss}`, also "
               "`INT`, `INT_ANY`, `HEX`; `TIMESTAMP` and `GLOG_STAMP` only match; or "
               "`(?P<loss>...)`."},
       {.name = "lines",
        .form = Form::kNatural,
        .doc = "How many lines it looks at together, with `\\n` between them; 1 by default."},
       {.name = "step",
        .form = Form::kText,
        .doc = "The field that is the step, here or in an earlier line; `step` by default."}}};
  return kTable;
}

const FieldTable& health_fields() {
  static const FieldTable kTable{
      "`health`",
      {{.name = "hang",
        .form = Form::kHang,
        .doc = "A rank that is silent for too long: `{after: 10m, action: restart}`."},
       {.name = "nan",
        .form = Form::kNan,
        .doc = "A reported metric that is nan or infinite: an action, or "
               "`{metric: loss, action: kill}`."},
       {.name = "straggler",
        .form = Form::kStraggler,
        .doc = "A rank of a gang that is slower than the others: an action, or "
               "`{factor: 3, action: warn}`."}}};
  return kTable;
}

namespace {

Field action_field() {
  return {.name = "action",
          .form = Form::kText,
          .doc =
              "`warn` (the default); `restart`: end it and try again, which costs one of "
              "`retry.max`; `kill`: end it for good."};
}

}  // namespace

const FieldTable& hang_fields() {
  static const FieldTable kTable{
      "`hang`",
      {{.name = "after",
        .form = Form::kDuration,
        .doc = "How long a rank may write neither output nor a metric; 1s at least."},
       action_field()}};
  return kTable;
}

const FieldTable& nan_fields() {
  static const FieldTable kTable{"`nan`",
                                 {{.name = "metric",
                                   .form = Form::kText,
                                   .doc = "The metric that is looked at; all by default."},
                                  action_field()}};
  return kTable;
}

const FieldTable& straggler_fields() {
  static const FieldTable kTable{
      "`straggler`",
      {{.name = "factor",
        .form = Form::kMoney,
        .doc = "How many times the median of the other ranks a step may take; 3 by default."},
       action_field()}};
  return kTable;
}

const FieldTable& search_fields() {
  static const FieldTable kTable{
      "`search`",
      {{.name = "method",
        .form = Form::kText,
        .doc = "`auto` (by space and budget, the default), `grid`, `random`, `tpe`, `cma-es`, "
               "`gp`, `nsga2`, `pbt`."},
       {.name = "metric", .form = Form::kText, .doc = "The metric that trials report."},
       {.name = "mode", .form = Form::kText, .doc = "`min` or `max`: which values are better."},
       {.name = "objectives",
        .form = Form::kModes,
        .doc = "Several metrics in place of `metric` and `mode`: `{accuracy: max, seconds: min}`."},
       {.name = "max_trials",
        .form = Form::kNatural,
        .doc = "The most parameter sets tried; a grid's size by default."},
       {.name = "max_duration",
        .form = Form::kDuration,
        .doc = "No trial begins later than this after the first one; no limit by default."},
       {.name = "max_failures",
        .form = Form::kNatural,
        .doc =
            "With more failed trials the search stops as FAILED; by default when the first 5 all "
            "fail alike."},
       {.name = "budget",
        .form = Form::kMoney,
        .doc = "The most dollars for all trials, at the nodes' prices; then what runs is ended. No "
               "limit by default."},
       {.name = "parallel", .form = Form::kNatural, .doc = "The most trials at one time."},
       {.name = "pruner",
        .form = Form::kPruner,
        .doc = "When a trial that does badly ends early: `asha`, `hyperband`, `median`, or a "
               "mapping."},
       {.name = "start",
        .form = Form::kPoints,
        .doc = "Parameter sets to try first; what is left out is suggested."},
       {.name = "from",
        .form = Form::kEarlier,
        .doc = "Trials of earlier studies to learn from: "
               "`[{params: {lr: 0.1}, values: {loss: 0.3}}]`; `--from` takes them from a study or "
               "its export."},
       {.name = "population",
        .form = Form::kPopulation,
        .doc = "`pbt`: how members go on from the checkpoints of the best."}}};
  return kTable;
}

const FieldTable& population_fields() {
  static const FieldTable kTable{
      "`population`",
      {{.name = "every",
        .form = Form::kNatural,
        .doc = "Steps of the reports between two judgements; 1 by default."},
       {.name = "max_step",
        .form = Form::kNatural,
        .doc = "The last step of a whole member; nobody is judged from there on."},
       {.name = "quantile_percent",
        .form = Form::kNatural,
        .doc = "So many of the population are the worst, and as many the best; 25 by default."},
       {.name = "resample_percent",
        .form = Form::kNatural,
        .doc = "The chance of a parameter to be drawn anew instead of moved; 25 by default."}}};
  return kTable;
}

const FieldTable& earlier_fields() {
  static const FieldTable kTable{
      "an earlier trial",
      {{.name = "params", .form = Form::kTextMap, .doc = "What was tried, by parameter."},
       {.name = "values", .form = Form::kTextMap, .doc = "What came of it, by metric."}}};
  return kTable;
}

const FieldTable& pruner_fields() {
  static const FieldTable kTable{
      "`pruner`",
      {{.name = "method",
        .form = Form::kText,
        .doc = "`asha` (the default), `hyperband`, `median`."},
       {.name = "min_step",
        .form = Form::kNatural,
        .doc = "The first step of the reports that is judged; 1 by default."},
       {.name = "max_step",
        .form = Form::kNatural,
        .doc = "The last step of a whole trial; `hyperband` needs it."},
       {.name = "eta",
        .form = Form::kNatural,
        .doc = "One in so many goes on to the next rung, which is so many times further; 4 by "
               "default."},
       {.name = "every",
        .form = Form::kNatural,
        .doc = "`median`: steps between two judgements; 1 by default."},
       {.name = "startup_trials",
        .form = Form::kNatural,
        .doc = "`median`: trials that end before any is judged; 5 by default."}}};
  return kTable;
}

const FieldTable& parameter_fields() {
  static const FieldTable kTable{
      "a parameter",
      {{.name = "range",
        .form = Form::kPair,
        .doc = "All integers from low to high, both included."},
       {.name = "uniform", .form = Form::kPair, .doc = "A real number, low <= x <= high."},
       {.name = "loguniform",
        .form = Form::kPair,
        .doc = "A real number whose logarithm is uniform, 0 < low <= x <= high."},
       {.name = "choice", .form = Form::kValues, .doc = "One of these values."},
       {.name = "log",
        .form = Form::kBoolean,
        .doc = "`range` in a search: on a logarithmic scale."},
       {.name = "step",
        .form = Form::kMoney,
        .doc = "`uniform` in a search: only low, low + step, and so on."},
       {.name = "when",
        .form = Form::kCondition,
        .doc = "In a search: takes part only with these values of an earlier choice, "
               "`{optimizer: sgd}`; `{{name}}` is empty otherwise."}}};
  return kTable;
}

const FieldTable& node_fields() {
  static const FieldTable kTable{
      "a node",
      {{.name = "name", .form = Form::kText, .doc = "What the node is called."},
       {.name = "pool",
        .form = Form::kText,
        .doc = "The set of like nodes it is in; `local` by default."},
       {.name = "cpus", .form = Form::kCpus, .doc = "Cores it has."},
       {.name = "memory", .form = Form::kBytes, .doc = "Main memory it has."},
       {.name = "accelerators",
        .form = Form::kAccelerators,
        .doc = "Devices it has, `H100:8` or {H100: 8, L4: 1}."},
       {.name = "spot",
        .form = Form::kBoolean,
        .doc = "Whether it may be taken away at short notice."},
       {.name = "instance",
        .form = Form::kText,
        .doc = "The rented type that it is, by its name in the table of prices; the cheapest that "
               "holds it by default."},
       {.name = "price",
        .form = Form::kMoney,
        .doc =
            "Dollars per hour; that of `instance` by default, 0 for a machine that is paid for."},
       {.name = "spot_price",
        .form = Form::kMoney,
        .doc = "Dollars per hour as a spot node; that of `instance` by default."},
       {.name = "colocate",
        .form = Form::kBoolean,
        .doc = "Whether several places of one gang may share it."}}};
  return kTable;
}

const FieldTable& nodes_file_fields() {
  static const FieldTable kTable{
      "a nodes file", {{.name = "nodes", .form = Form::kNodes, .doc = "The nodes of this home."}}};
  return kTable;
}

std::string_view our_word_for(std::string_view foreign) {
  struct Pair {
    std::string_view foreign;
    std::string_view ours;
  };
  static constexpr std::array<Pair, 29> kWords = {{
      {"spot", "resources.spot"},
      {"use_spot", "resources.spot"},
      {"gpus", "resources.accelerators"},
      {"gpu", "resources.accelerators"},
      {"cpu", "resources.cpus"},
      {"cpus", "resources.cpus"},
      {"mem", "resources.memory"},
      {"memory", "resources.memory"},
      {"accelerators", "resources.accelerators"},
      {"env", "envs"},
      {"environment", "envs"},
      {"env_vars", "envs"},
      {"commands", "run"},
      {"script", "run"},
      {"entrypoint", "run"},
      {"cmd", "run"},
      {"nodes", "num_nodes"},
      {"replicas", "num_nodes"},
      {"ntasks", "procs_per_node"},
      {"timeout", "max_duration"},
      {"time", "max_duration"},
      {"time_limit", "max_duration"},
      {"retries", "retry.max"},
      {"cwd", "workdir"},
      {"chdir", "workdir"},
      {"working_dir", "workdir"},
      {"array", "params"},
      {"parameters", "params"},
      {"partition", "queue"},
  }};
  const auto found = std::find_if(kWords.begin(), kWords.end(),
                                  [&](const Pair& pair) { return pair.foreign == foreign; });
  return found == kWords.end() ? std::string_view() : found->ours;
}

}  // namespace runnel::spec
