#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/run_flags.h"

namespace runnel::cli {

enum class Command : std::uint8_t {
  kRun,
  kUp,
  kValidate,
  kPlan,
  kImport,
  kPrices,
  kNodes,
  kPreempt,
  kPs,
  kShow,
  kLogs,
  kMetrics,
  kStudyList,
  kStudyShow,
  kStudyBest,
  kStudyAsk,
  kStudyReport,
  kStudyTell,
  kStudyExport,
  kHomeLogs,
  kVolumeCreate,
  kVolumeList,
  kVolumeVersions,
  kVolumeShow,
  kVolumePut,
  kVolumeGet,
  kVolumeLs,
  kVolumeCat,
  kVolumeRm,
  kVolumeCp,
  kVolumeMv,
  kVolumeSync,
  kVolumeSnapshot,
  kVolumeClone,
  kVolumeRestore,
  kVolumeDump,
  kVolumeLoad,
  kVolumeExport,
  kVolumeImport,
  kVolumeTag,
  kVolumeDelete,
  kVolumeForget,
  kVolumeGc,
  kVolumeStat,
  kVolumeFsck,
  kVolumeBench,
  kVolumeWarmup,
  kVolumeMount,
  kVolumeUmount,
  kVolumePublish,
  kVolumeBranches,
  kVolumeMerge,
  kVolumeServe,
  kEvents,
  kCancel,
  kHalt,
  kResume,
  kRetry,
  kDelete,
  kWait,
  kExplain,
  kCheck,
  kHome,
  kFsck,
  kSimulate,
  kCompletion,
  kDaemon,
  kRunner,
  kDevices,
};

enum class Output : std::uint8_t { kHuman, kWide, kTsv, kJson, kYaml, kName };

// Everything that can stand on the command line, parsed and nothing else done. Fields that a
// command does not know keep their defaults.
struct Arguments {
  Command command = Command::kPs;
  std::string home;  // --home; empty: RUNNEL_HOME, else ~/.runnel.
  Output output = Output::kHuman;
  bool no_colour = false;  // --no-color

  std::string file;                 // run FILE, up -f, validate, plan, import.
  std::string given;                // up: what stands without a flag.
  std::optional<std::string> from;  // run, up, study create: an earlier study.
  spec::RunFlags flags;             // run -- CMD
  std::optional<std::string> name;
  std::optional<std::int64_t> priority;
  std::vector<std::string> envs;  // K=V
  std::vector<std::string> env_files;
  bool env_all = false;
  std::vector<std::string> secrets;  // NAME: value from the shell.
  bool detach = false;
  bool dry_run = false;  // up, plan, volume gc, sync --dry-run
  bool chaos = false;    // run --chaos
  bool quiet = false;    // run --quiet

  std::vector<std::string> jobs;  // Ids or unique prefixes.
  bool all = false;               // ps -a
  bool tasks = false;             // show --tasks
  bool spec = false;              // show --spec
  bool yes = false;
  bool follow = false;
  bool watch = false;
  std::optional<std::string> step;
  std::optional<std::int64_t> task;
  std::optional<std::int64_t> attempt;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> tail;
  std::optional<std::string> since;
  std::optional<std::string> metric;   // metrics --metric
  bool csv = false;                    // metrics --csv
  std::optional<std::string> lease;    // study ask --lease
  std::vector<std::string> values;     // study tell --value, of each objective
  std::int64_t at = 0;                 // study report --at, the step of the training
  std::string state = "complete";      // study tell --state
  std::optional<std::string> message;  // study tell, volume put and others: --message
  std::optional<std::int64_t> after;   // events --after
  std::int64_t limit = 50;             // Rows of a list.
  std::optional<std::int64_t> events_max;
  std::optional<std::string> timeout;  // wait --timeout
  bool status = false;                 // wait --status, logs --status
  std::string node;                    // preempt
  std::string notice = "30s";
  std::string away = "60s";
  bool repair = false;                    // fsck, volume fsck --repair
  bool adopt = false;                     // home --adopt
  bool processes = false;                 // devices --processes
  std::string level = "info";             // home logs --level
  std::string verify;                     // simulate --verify HOME
  std::int64_t schedules = 1'000;         // simulate
  std::optional<std::int64_t> seed;       // simulate --seed
  std::string shell = "bash";             // completion
  std::string volume;                     // volume: NAME[@VERSION][:/PATH]
  std::string source;                     // volume put, get, cp and others
  std::string target;                     // volume put, get, cp and others
  std::optional<std::string> store;       // volume --store
  bool mirror = false;                    // volume put|import --mirror
  bool link = false;                      // volume import --link
  std::string pack_size = "32MiB";        // volume put --pack-size
  bool remove = false;                    // volume tag, sync --delete
  bool force = false;                     // volume tag --force
  std::optional<std::string> keep;        // volume gc --keep
  std::optional<std::string> cache;       // volume mount, warmup: --cache
  std::optional<std::string> cache_size;  // the same: --cache-size
  std::vector<std::string> targets;       // volume rm, umount, branches --remove, merge
  bool lazy = false;                      // volume umount --lazy
  std::string mount_mode = "ro";          // volume mount --mode
  std::string branch;                     // volume mount --branch
  std::string branches_from;              // volume merge
  std::string merge_name;                 // volume merge --once
  std::int64_t term = 0;                  // volume mount --term
  bool from_base = false;                 // volume mount
  std::string while_used;                 // volume mount --while-used
  bool looked_up = false;                 // volume mount --looked-up
};

// What parsing led to: arguments, or text that was asked for (help), or a usage error (exit 2).
struct Parsed {
  std::optional<Arguments> arguments;
  std::string text;   // Help or version, for stdout.
  std::string error;  // For stderr; exit 2.
};

Parsed parse_arguments(int argc, const char* const* argv);

// The words a shell completes, from the same definition as the parser: commands and their flags.
std::string completion_script(const std::string& shell);

}  // namespace runnel::cli
