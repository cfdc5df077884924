#include "search/sampling.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/split_mix.h"
#include "search/decimal.h"
#include "search/permutation.h"

namespace runnel::search {
namespace {

using model::Parameter;
__extension__ using Wide = unsigned __int128;

// What a random number is for; each use of each parameter has its own key.
enum class Use : std::uint8_t { kCells, kSlice, kPoint };

// The values of a discrete parameter, by position.
struct Positions {
  std::uint64_t size = 1;
  std::uint64_t low = 0;   // Ranges: the first integer, in two's complement.
  std::uint64_t span = 0;  // Ranges: the last one minus the first.
};

Positions positions_of(const Parameter& parameter) {
  if (parameter.kind == Parameter::Kind::kChoice) {
    CHECK(!parameter.values.empty(), "a choice without values in a checked spec");
    return {.size = parameter.values.size()};
  }
  const auto low = number_of<std::int64_t>(parameter.low);
  const auto high = number_of<std::int64_t>(parameter.high);
  CHECK(low <= high, "a range ends before it begins in a checked spec");
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  return {.size = std::min(span, kPermutationMax - 1) + 1,
          .low = static_cast<std::uint64_t>(low),
          .span = span};
}

std::string value_at(const Parameter& parameter, const Positions& positions,
                     std::uint64_t position) {
  CHECK(position < positions.size, "a position outside its parameter");
  if (parameter.kind == Parameter::Kind::kChoice) return parameter.values[position];
  // Each position stands for the first integer of its share where there are more integers than
  // positions.
  const std::uint64_t offset =
      positions.span < kPermutationMax
          ? position
          : static_cast<std::uint64_t>((Wide{position} * (Wide{positions.span} + 1)) /
                                       kPermutationMax);
  return std::to_string(static_cast<std::int64_t>(positions.low + offset));
}

// Whether a * b is at most `most`; both are at least 1.
bool product_fits(std::uint64_t a, std::uint64_t b, std::uint64_t most) { return a <= most / b; }

// The point of [low, high) that `share` of 0 to 1 means.
double point_of(const Parameter& parameter, double share) {
  const auto low = number_of<double>(parameter.low);
  const auto high = number_of<double>(parameter.high);
  double value = 0;
  if (parameter.kind == Parameter::Kind::kLogUniform) {
    value = std::exp(std::log(low) * (1 - share) + std::log(high) * share);
  } else {
    value = low * (1 - share) + high * share;
  }
  // Rounding may leave the interval by a last digit.
  return std::clamp(value, low, std::nextafter(high, low));
}

// Draws one task's values.
class Drawing {
 public:
  Drawing(const model::StepSpec& step, std::uint64_t key, std::uint64_t task)
      : step_(step), key_(key), task_(task), values_(step.params.size()) {}

  std::vector<std::pair<std::string, std::string>> run() {
    draw_discrete();
    std::vector<std::pair<std::string, std::string>> out;
    out.reserve(step_.params.size());
    for (std::size_t index = 0; index < step_.params.size(); ++index) {
      const Parameter& parameter = step_.params[index];
      if (parameter.continuous()) values_[index] = shortest(point_of(parameter, share_of(index)));
      out.emplace_back(parameter.name, std::move(values_[index]));
    }
    return out;
  }

 private:
  struct Member {
    std::size_t index = 0;
    Positions positions;
  };

  std::uint64_t key_of(Use use, std::uint64_t number) const {
    return derive(derive(key_, static_cast<std::uint64_t>(use)), number);
  }

  // Cuts the grid into parts that a permutation can hold, from the last parameter on; all but a
  // handful of grids are one part.
  void draw_discrete() {
    std::vector<Member> part;
    std::uint64_t cells = 1;
    for (std::size_t index = step_.params.size(); index-- > 0;) {
      if (step_.params[index].continuous()) continue;
      const Positions positions = positions_of(step_.params[index]);
      if (!product_fits(cells, positions.size, kPermutationMax)) {
        draw_part(part, cells);
        part.clear();
        cells = 1;
      }
      cells *= positions.size;
      part.push_back({index, positions});
    }
    draw_part(part, cells);
  }

  // The first of the part's members turns fastest.
  void draw_part(const std::vector<Member>& part, std::uint64_t cells) {
    if (part.empty()) return;
    std::uint64_t cell = step_.samples ? permuted_cell(part.front().index, cells) : task_;
    for (const Member& member : part) {
      values_[member.index] =
          value_at(step_.params[member.index], member.positions, cell % member.positions.size);
      cell /= member.positions.size;
    }
    CHECK(step_.samples || cell == 0, "a task index outside the grid of its step");
  }

  std::uint64_t permuted_cell(std::uint64_t part, std::uint64_t cells) const {
    const std::uint64_t round = task_ / cells;
    return permute(task_ % cells, cells, derive(key_of(Use::kCells, part), round));
  }

  double share_of(std::size_t index) const {
    constexpr double kUnit = 1.0 / 9007199254740992.0;  // 2^-53
    const auto slices = static_cast<std::uint64_t>(step_.samples.value_or(step_.task_count));
    const std::uint64_t slice = permute(task_ % slices, slices, key_of(Use::kSlice, index));
    const std::uint64_t bits = derive(key_of(Use::kPoint, index), task_) >> 11;
    const double point = static_cast<double>(bits) * kUnit;
    return (static_cast<double>(slice) + point) / static_cast<double>(slices);
  }

  const model::StepSpec& step_;
  const std::uint64_t key_;
  const std::uint64_t task_;
  std::vector<std::string> values_;
};

}  // namespace

Result<std::int64_t> grid_size(const std::vector<Parameter>& params) {
  std::uint64_t cells = 1;
  for (const Parameter& parameter : params) {
    if (parameter.continuous()) continue;
    const Positions positions = positions_of(parameter);
    if (!product_fits(cells, positions.size, static_cast<std::uint64_t>(model::kTasksPerStepMax))) {
      return Error(Errc::kInvalid, "the full grid has more than " +
                                       std::to_string(model::kTasksPerStepMax) + " tasks")
          .with_field("params." + parameter.name)
          .with_hint("say how many to draw with samples");
    }
    cells *= positions.size;
  }
  return static_cast<std::int64_t>(cells);
}

std::vector<std::pair<std::string, std::string>> draw(const model::StepSpec& step,
                                                      std::int64_t seed, StepIndex step_index,
                                                      TaskIndex task) {
  CHECK(task.value() >= 0, "a negative task index");
  const std::uint64_t key = derive(scramble(static_cast<std::uint64_t>(seed)),
                                   static_cast<std::uint64_t>(step_index.value()));
  return Drawing(step, key, static_cast<std::uint64_t>(task.value())).run();
}

}  // namespace runnel::search
