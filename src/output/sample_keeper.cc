#include "output/sample_keeper.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "extract/sample.h"

namespace runnel::output {
namespace {

std::string names_of(const model::MetricSample& sample) {
  std::string names;
  for (const auto& [name, value] : sample.values) names.append(name).append("\n");
  return names;
}

constexpr std::size_t kNodeBytes = 64;  // A node of a tree or list, about, with what it holds.

// Evenly, from the back, so that the last is among them.
template <typename Item>
void thin(std::vector<Item>& items, std::size_t most) {
  CHECK(most >= 1, "of every kind something is kept");
  const std::size_t every = (items.size() + most - 1) / most;
  if (every <= 1) return;
  std::size_t kept = 0;
  for (std::size_t i = (items.size() - 1) % every; i < items.size(); i += every) {
    if (i != kept) items[kept] = std::move(items[i]);
    ++kept;
  }
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(kept), items.end());
}

using Samples = std::vector<model::MetricSample>;

// Each in its own order, together by step.
Samples merged(std::vector<Samples> sources) {
  Samples all;
  std::vector<std::size_t> at(sources.size(), 0);
  for (;;) {
    std::size_t next = sources.size();
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (at[i] == sources[i].size()) continue;
      const bool first = next == sources.size();
      if (first || sources[i][at[i]].step < sources[next][at[next]].step) next = i;
    }
    if (next == sources.size()) return all;
    extract::append_sample(all, std::move(sources[next][at[next]++]));
  }
}

}  // namespace

std::size_t bytes_of(const model::MetricSample& sample) {
  std::size_t bytes = sizeof sample;
  for (const auto& [name, value] : sample.values) {
    bytes += 2 * kNodeBytes + name.size() + value.size();
  }
  return bytes;
}

void SampleKeeper::take(std::size_t source, std::vector<model::MetricSample> samples) {
  for (model::MetricSample& sample : samples) {
    Key key(source, names_of(sample));
    if (kinds_.size() >= kKindsMax && !kinds_.contains(key)) key.second.clear();
    const bool of_one_kind = !key.second.empty();
    const std::size_t key_bytes = kNodeBytes + key.second.size();
    const auto [at, added] = kinds_.try_emplace(std::move(key));
    Kind& kind = at->second;
    if (added) kind.bytes = key_bytes;
    const std::size_t before = added ? 0 : kind.bytes;
    if (of_one_kind && !is_new(kind, sample)) go_back(kind, sample);
    add(kind, {taken_++, std::move(sample)});
    bytes_ = bytes_ - before + kind.bytes;
    if (bytes_ > kBytesMax) make_room();
  }
}

void SampleKeeper::make_room() {
  while (bytes_ > kBytesMax) {
    const auto heaviest = std::max_element(
        kinds_.begin(), kinds_.end(),
        [](const auto& one, const auto& other) { return one.second.bytes < other.second.bytes; });
    Kind& kind = heaviest->second;
    bytes_ -= kind.bytes;
    if (kind.kept.size() <= 2) {
      kinds_.erase(heaviest);
      continue;
    }
    halve(kind);
    forget_steps(kind, kind.told.size() / 2);
    bytes_ += kind.bytes;
  }
}

void SampleKeeper::forget_steps(Kind& kind, std::size_t most) {
  while (kind.told.size() > most) {
    kind.told.erase(kind.told.begin());
    kind.bytes -= kNodeBytes;
  }
}

bool SampleKeeper::is_new(Kind& kind, const model::MetricSample& sample) {
  if (!kind.told.emplace(sample.step, sample.rank).second) return false;
  kind.bytes += kNodeBytes;
  forget_steps(kind, kToldMax);
  return true;
}

// Forgets what its rank told of this step and all later ones.
void SampleKeeper::go_back(Kind& kind, const model::MetricSample& sample) {
  const auto later = [&](const Kept& kept) {
    return kept.sample.rank == sample.rank && kept.sample.step >= sample.step;
  };
  if (!kind.kept.empty() && later(kind.kept.back())) kind.last_is_extra = false;
  for (const Kept& kept : kind.kept) kind.bytes -= later(kept) ? bytes_of(kept.sample) : 0;
  std::erase_if(kind.kept, later);
  const auto after = kind.told.upper_bound({sample.step, sample.rank});
  for (auto told = after; told != kind.told.end();) {
    if (told->second != sample.rank) {
      ++told;
      continue;
    }
    told = kind.told.erase(told);
    kind.bytes -= kNodeBytes;
  }
}

void SampleKeeper::add(Kind& kind, Kept sample) {
  if (kind.last_is_extra) {
    kind.bytes -= bytes_of(kind.kept.back().sample);
    kind.kept.pop_back();
  }
  kind.last_is_extra = kind.count++ % kind.every != 0;
  kind.bytes += bytes_of(sample.sample);
  kind.kept.push_back(std::move(sample));
  if (kind.kept.size() >= 2 * model::kSamplesMax) halve(kind);
}

void SampleKeeper::halve(Kind& kind) {
  CHECK(!kind.last_is_extra || kind.every > 1, "where all are kept none is extra");
  std::vector<Kept> kept;
  const std::size_t last = kind.kept.size() - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    const bool stays = i % 2 == 0 || i == last;
    if (!stays) kind.bytes -= bytes_of(kind.kept[i].sample);
    if (stays) kept.push_back(std::move(kind.kept[i]));
  }
  kind.last_is_extra = last % 2 == 1 || kind.last_is_extra;
  kind.kept = std::move(kept);
  kind.every *= 2;
}

// How many samples each kind may keep so that all of them keep kSamplesMax.
std::size_t SampleKeeper::fair_share() const {
  std::vector<std::size_t> sizes;
  sizes.reserve(kinds_.size());
  for (const auto& [key, kind] : kinds_) sizes.push_back(kind.kept.size());
  std::sort(sizes.begin(), sizes.end());
  std::size_t left = model::kSamplesMax;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t share = left / (sizes.size() - i);
    if (sizes[i] > share) return std::max<std::size_t>(share, 1);
    left -= sizes[i];
  }
  return model::kSamplesMax;
}

std::vector<model::MetricSample> SampleKeeper::finish() && {
  const std::size_t share = fair_share();
  std::map<std::size_t, std::vector<Kept>> by_source;
  for (auto& [key, kind] : kinds_) {
    thin(kind.kept, share);
    std::vector<Kept>& all = by_source[key.first];
    std::move(kind.kept.begin(), kind.kept.end(), std::back_inserter(all));
  }
  std::vector<Samples> sources;
  for (auto& [source, kept] : by_source) {
    std::sort(kept.begin(), kept.end(),
              [](const Kept& a, const Kept& b) { return a.number < b.number; });
    Samples& samples = sources.emplace_back();
    for (Kept& each : kept) samples.push_back(std::move(each.sample));
  }
  return merged(std::move(sources));
}

}  // namespace runnel::output
