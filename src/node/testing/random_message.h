#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/order.h"
#include "model/testing/random_model.h"
#include "node/message.h"

namespace runnel::node::testing {

// Random messages between nodes and control. Contract: as model::RandomModel.
class RandomMessage : public model::RandomModel {
 public:
  using RandomModel::RandomModel;

  Up up() {
    Up message{NodeId(word()), stamp(), Report{news()}};
    if (maybe()) message.what = GoodBye{news()};
    if (maybe()) message.what = inventory();
    if (below(4) == 0) message.what = Beat();
    if (below(6) == 0) message.what = InventoryPart{news(), beside()};
    return message;
  }

  model::NodeOrders orders() {
    model::NodeOrders orders;
    orders.epoch = Epoch(count64());
    orders.sequence = count64();
    orders.node = NodeId(word());
    orders.incarnation = Incarnation(text());
    while (maybe()) orders.start.push_back(start());
    while (maybe()) orders.watch.push_back(watch());
    while (maybe()) {
      orders.stop.push_back({attempt(), duration(), static_cast<model::StopReason>(below(5))});
    }
    while (maybe()) orders.forget.push_back(attempt());
    while (maybe()) orders.remove.emplace_back(word());
    return orders;
  }

 private:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  Stamp stamp() {
    return {UpSequence(count64()), Incarnation(text()), Epoch(count64()), count64()};
  }
  News news() { return {rank_reports(), metrics(), health_reports()}; }

  Inventory inventory() { return {node(), news(), maybe(), beside(), maybe() ? count64() : 0}; }
  std::vector<model::LostRanks> beside() {
    std::vector<model::LostRanks> beside;
    while (maybe()) beside.push_back({NodeId(word()), rank_reports()});
    return beside;
  }

  Variables variables() {
    Variables variables;
    while (maybe()) variables.emplace_back(text(), text());
    return variables;
  }
  std::int32_t ranks() { return static_cast<std::int32_t>(1 + below(INT32_MAX)); }

  model::StartOrder start() {
    model::StartOrder order;
    order.attempt = attempt();
    order.lane = LaneId(count64());
    order.first_rank = count32();
    order.rank_count = ranks();
    order.world_size = ranks();
    order.node_rank = count32();
    order.num_nodes = ranks();
    order.port = static_cast<std::int32_t>(below(65'536));
    order.argv = words(4);
    order.env = variables();
    while (maybe()) order.place_env.push_back(variables());
    while (maybe()) order.secrets.push_back({text(), text()});
    while (maybe()) order.volumes.push_back({text(), text(), text(), text()});
    for (model::VolumeUse& use : order.volumes) {
      if (maybe()) use.mode = model::VolumeMode::kWrite;
    }
    if (maybe()) order.branch = text();
    if (maybe()) order.merge = {text(), {{0, 3}, {7, 8}}, 2, {{"out", text()}}};
    order.workdir = text();
    order.memory_max = Bytes::count(count64());
    order.milli_cpus = count64();
    order.max_duration = duration();
    order.grace = duration();
    order.max_log = Bytes::count(count64());
    if (maybe()) order.checkpoint = model::CheckpointPolicy{text(), duration(), std::nullopt};
    if (maybe()) order.checkpoint_from = model::CheckpointSource{attempt().task, text(), count64()};
    if (maybe()) order.metrics = {{{word(), word(), 2, word()}}, word()};
    order.objectives = words(3);
    order.is_followed = maybe();
    order.keep_task_dir = maybe();
    return order;
  }

  model::WatchOrder watch() {
    model::WatchOrder order{attempt(), count32(), ranks(), ranks(), {}};
    if (maybe()) order.health.hang = model::HangPolicy{duration(), model::HealthAction::kKill};
    if (maybe()) order.health.nan = model::NanPolicy{text(), model::HealthAction::kWarn};
    if (maybe()) order.health.straggler = model::StragglerPolicy{count64(), {}};
    return order;
  }
};

}  // namespace runnel::node::testing
