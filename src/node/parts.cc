#include "node/parts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace runnel::node {
namespace {

template <typename T>
void append(std::vector<T>& all, std::vector<T> more) {
  if (all.empty()) return all.swap(more);
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Deals reports out to pieces of a bounded size.
template <typename Piece>
class Dealer {
 public:
  explicit Dealer(std::size_t size_max) : size_max_(size_max) {
    CHECK(size_max >= 1, "messages without room for a report");
  }

  // The piece that has room for one more report.
  Piece& next() {
    if (pieces_.empty() || size_ == size_max_) {
      pieces_.emplace_back();
      size_ = 0;
    }
    ++size_;
    return pieces_.back();
  }
  std::vector<Piece> take() { return std::move(pieces_); }

 private:
  std::size_t size_max_;
  std::size_t size_ = 0;  // Of the last piece.
  std::vector<Piece> pieces_;
};

// `news_of`: the news of a piece.
template <typename Piece, typename NewsOf>
void deal(Dealer<Piece>& dealer, News news, NewsOf news_of) {
  if (news.devices) news_of(dealer.next()).devices = std::move(news.devices);
  for (auto& each : news.metrics) news_of(dealer.next()).metrics.push_back(std::move(each));
  for (auto& each : news.health) news_of(dealer.next()).health.push_back(std::move(each));
  for (auto& each : news.ranks) news_of(dealer.next()).ranks.push_back(std::move(each));
}

void add_beside(std::vector<model::LostRanks>& beside, const NodeId& node,
                std::vector<model::RankReport> ranks) {
  if (beside.empty() || beside.back().node != node) beside.push_back({node, {}});
  append(beside.back().ranks, std::move(ranks));
}

}  // namespace

std::size_t size_of(const News& news) {
  return news.ranks.size() + news.metrics.size() + news.health.size() + (news.devices ? 1 : 0);
}

void append(News& all, News more) {
  append(all.ranks, std::move(more.ranks));
  append(all.metrics, std::move(more.metrics));
  append(all.health, std::move(more.health));
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
  deal(dealer, std::move(news), [](News& piece) -> News& { return piece; });
  return dealer.take();
}

std::vector<InventoryPart> take_parts(Inventory& inventory, std::size_t size_max) {
  Dealer<InventoryPart> dealer(size_max);
  deal(dealer, std::exchange(inventory.has, {}),
       [](InventoryPart& part) -> News& { return part.has; });
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
