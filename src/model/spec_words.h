#pragma once

#include <array>
#include <string_view>

// The words of a specification: one table each, in the order of its enum's values. Readers of
// files, codecs, checks and the texts of errors all use these.
namespace runnel::model {

inline constexpr std::array<std::string_view, 4> kParameterKindWords = {"choice", "range",
                                                                        "uniform", "loguniform"};
inline constexpr std::array<std::string_view, 8> kSearchMethodWords = {
    "auto", "grid", "random", "tpe", "cma-es", "gp", "nsga2", "pbt"};
inline constexpr std::array<std::string_view, 3> kPrunerKindWords = {"asha", "hyperband", "median"};
inline constexpr std::array<std::string_view, 3> kHealthActionWords = {"warn", "restart", "kill"};
inline constexpr std::array<std::string_view, 2> kVolumeModeWords = {"ro", "rw"};
inline constexpr std::array<std::string_view, 2> kModeWords = {"min", "max"};  // By `maximize`.

// The events that `retry.on_events` may name. An attempt that failed by itself is the last.
inline constexpr std::array<std::string_view, 4> kRetryEventWords = {"node_fail", "timeout",
                                                                     "out_of_memory", "failed"};

}  // namespace runnel::model
