#include "node/parts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/append.h"
#include "base/check.h"

namespace runnel::node {
namespace {

// Deals reports out to pieces of a bounded size.
template <typename Piece>
class Dealer {
 public:
  explicit Dealer(std::size_t size_max) : size_max_(size_max) {
    CHECK(size_max >= 1, "messages without room for a report");
  }

  // The piece for `count` more reports: one that has room for them, or has nothing else.
  Piece& next(std::size_t count = 1) {
    if (pieces_.empty() || (size_ > 0 && size_ + count > size_max_)) {
      pieces_.emplace_back();
      size_ = 0;
    }
    size_ += count;
    return pieces_.back();
  }
  std::vector<Piece> take() { return std::move(pieces_); }

 private:
  std::size_t size_max_;
  std::size_t size_ = 0;  // Of the last piece.
  std::vector<Piece> pieces_;
};

using MetricsOf = std::map<model::AttemptRef, std::vector<model::MetricReport>>;

// Metrics are told once per attempt, by its rank 0.
bool is_last_word(const model::RankReport& rank) { return rank.ended && rank.rank == 0; }

// The metrics of attempts that end by these ranks, taken out of all.
MetricsOf take_last_metrics(std::vector<model::MetricReport>& all,
                            const std::vector<model::RankReport>& ranks) {
  MetricsOf last;
  for (const model::RankReport& rank : ranks) {
    if (is_last_word(rank)) last[rank.attempt];
  }
  std::vector<model::MetricReport> others;
  for (model::MetricReport& each : all) {
    const auto ends = last.find(each.attempt);
    (ends == last.end() ? others : ends->second).push_back(std::move(each));
  }
  all = std::move(others);
  return last;
}

void deal_metrics(Dealer<News>& dealer, std::vector<model::MetricReport> metrics) {
  MetricsOf by_attempt;
  for (model::MetricReport& each : metrics) by_attempt[each.attempt].push_back(std::move(each));
  for (auto& [attempt, reports] : by_attempt) {
    News& piece = dealer.next(reports.size());
    append_all(piece.metrics, std::move(reports));
  }
}

void add_beside(std::vector<model::LostRanks>& beside, const NodeId& node,
                std::vector<model::RankReport> ranks) {
  if (beside.empty() || beside.back().node != node) beside.push_back({node, {}});
  append_all(beside.back().ranks, std::move(ranks));
}

}  // namespace

std::size_t size_of(const News& news) {
  return news.ranks.size() + news.metrics.size() + news.health.size() + (news.devices ? 1 : 0);
}

void append(News& all, News more) {
  append_all(all.ranks, std::move(more.ranks));
  append_all(all.metrics, std::move(more.metrics));
  append_all(all.health, std::move(more.health));
  if (more.devices) all.devices = std::move(more.devices);
}

std::vector<News> in_pieces(News news, std::size_t size_max) {
  const std::size_t size = size_of(news);
  if (size == 0) return {};
  std::vector<News> pieces;
  if (size <= size_max) {
    pieces.push_back(std::move(news));
    return pieces;
  }
  Dealer<News> dealer(size_max);
  MetricsOf last = take_last_metrics(news.metrics, news.ranks);
  if (news.devices) dealer.next().devices = std::move(news.devices);
  deal_metrics(dealer, std::move(news.metrics));
  for (model::HealthReport& each : news.health) dealer.next().health.push_back(std::move(each));
  for (model::RankReport& each : news.ranks) {
    std::vector<model::MetricReport> before;
    if (is_last_word(each)) before = std::exchange(last[each.attempt], {});
    News& piece = dealer.next(1 + before.size());
    append_all(piece.metrics, std::move(before));
    piece.ranks.push_back(std::move(each));
  }
  return dealer.take();
}

std::vector<InventoryPart> take_parts(Inventory& inventory, std::size_t size_max) {
  Dealer<InventoryPart> dealer(size_max);
  News has = std::exchange(inventory.has, {});
  if (has.devices) dealer.next().has.devices = std::move(has.devices);
  for (auto& each : has.metrics) dealer.next().has.metrics.push_back(std::move(each));
  for (auto& each : has.health) dealer.next().has.health.push_back(std::move(each));
  for (auto& each : has.ranks) dealer.next().has.ranks.push_back(std::move(each));
  for (model::LostRanks& lost : std::exchange(inventory.beside, {})) {
    for (model::RankReport& rank : lost.ranks) {
      add_beside(dealer.next().beside, lost.node, {std::move(rank)});
    }
  }
  std::vector<InventoryPart> parts = dealer.take();
  if (parts.empty()) return parts;
  inventory.has = std::move(parts.back().has);
  inventory.beside = std::move(parts.back().beside);
  parts.pop_back();
  inventory.parts = static_cast<std::int64_t>(parts.size());
  return parts;
}

void make_whole(Inventory& inventory, std::vector<InventoryPart> parts) {
  CHECK(std::cmp_equal(inventory.parts, parts.size()), "parts of another inventory");
  if (parts.empty()) return;
  InventoryPart whole;
  parts.push_back({std::move(inventory.has), std::move(inventory.beside)});
  for (InventoryPart& part : parts) {
    append(whole.has, std::move(part.has));
    for (model::LostRanks& lost : part.beside) {
      add_beside(whole.beside, lost.node, std::move(lost.ranks));
    }
  }
  inventory.has = std::move(whole.has);
  inventory.beside = std::move(whole.beside);
  inventory.parts = 0;
}

}  // namespace runnel::node
