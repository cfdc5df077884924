#include "node/wire.h"

#include <optional>
#include <utility>
#include <variant>

#include "model/detail/words.h"
#include "model/records.h"
#include "model/spec_records.h"

namespace runnel::node {

// The stored form of an Up: exactly one of the five is there.
struct UpRecord {
  NodeId node;
  Stamp stamp;
  std::optional<Inventory> inventory;
  std::optional<Report> report;
  std::optional<GoodBye> good_bye;
  std::optional<Beat> beat;
  std::optional<InventoryPart> part;
};

}  // namespace runnel::node

namespace runnel::model {

constexpr detail::Words<5> kStopReasonWords = {"cancelled", "halted", "rank-failed", "preempted",
                                               "withdrawn"};

inline std::string_view to_string(StopReason reason) {
  return detail::word_of(reason, kStopReasonWords);
}

inline Result<StopReason> parse_stop_reason(std::string_view word) {
  return detail::parse_word<StopReason>(word, kStopReasonWords, "a reason to stop");
}

template <>
struct Form<StopReason> : WordForm<StopReason, parse_stop_reason> {};

template <>
struct Fields<TaskRef> {
  static void visit(auto& visit, auto& ref) {
    visit("job", ref.job, Required());
    visit("step", ref.step);
    visit("task", ref.index);
  }
};

template <>
struct Fields<CheckpointSource> {
  static void visit(auto& visit, auto& source) {
    visit("dir", source.dir);
    visit("number", source.number, Number{.fallback = 1});
    visit("task", source.task, Required());
  }
};

template <>
struct Fields<MergeOrder> {
  static void visit(auto& visit, auto& merge) {
    visit("branches", merge.branches, Required());
    visit("published", merge.published, AsObject());
    visit("tasks", merge.tasks, Required());
    visit("world_size", merge.world_size, Number{.min = 1, .fallback = 1});
  }
};

template <>
struct Fields<StartOrder> {
  static constexpr Number kRanks = {.min = 1, .fallback = 1};
  static void visit(auto& visit, auto& order) {
    visit("argv", order.argv);
    visit("attempt", order.attempt, Required());
    visit("branch", order.branch);
    visit("checkpoint", order.checkpoint);
    visit("checkpoint_from", order.checkpoint_from);
    visit("env", order.env);
    visit("first_rank", order.first_rank);
    visit("grace", order.grace);
    visit("is_followed", order.is_followed);
    visit("keep_task_dir", order.keep_task_dir);
    visit("lane", order.lane, Required());
    visit("max_duration", order.max_duration);
    visit("max_log", order.max_log);
    visit("memory_max", order.memory_max);
    visit("merge", order.merge);
    visit("metrics", order.metrics);
    visit("milli_cpus", order.milli_cpus);
    visit("node_rank", order.node_rank);
    visit("num_nodes", order.num_nodes, kRanks);
    visit("objectives", order.objectives);
    visit("place_env", order.place_env);
    visit("port", order.port, Number{.max = 65'535});
    visit("rank_count", order.rank_count, kRanks);
    visit("secrets", order.secrets);
    visit("volumes", order.volumes);
    visit("workdir", order.workdir);
    visit("world_size", order.world_size, kRanks);
  }
};

template <>
struct Fields<StopOrder> {
  static void visit(auto& visit, auto& order) {
    visit("attempt", order.attempt, Required());
    visit("grace", order.grace);
    visit("reason", order.reason, Required());
  }
};

template <>
struct Fields<WatchOrder> {
  static constexpr Number kRanks = {.min = 1, .fallback = 1};
  static void visit(auto& visit, auto& order) {
    visit("attempt", order.attempt, Required());
    visit("first_rank", order.first_rank);
    visit("health", order.health);
    visit("rank_count", order.rank_count, kRanks);
    visit("world_size", order.world_size, kRanks);
  }
};

template <>
struct Fields<NodeOrders> {
  static void visit(auto& visit, auto& orders) {
    visit("epoch", orders.epoch);
    visit("forget", orders.forget);
    visit("incarnation", orders.incarnation);
    visit("node", orders.node, Required());
    visit("remove", orders.remove);
    visit("sequence", orders.sequence);
    visit("start", orders.start);
    visit("stop", orders.stop);
    visit("watch", orders.watch);
  }
};

template <>
struct Fields<node::News> {
  static void visit(auto& visit, auto& news) {
    visit("devices", news.devices);
    visit("health", news.health);
    visit("metrics", news.metrics);
    visit("ranks", news.ranks);
  }
};

template <>
struct Fields<node::Inventory> {
  static void visit(auto& visit, auto& inventory) {
    visit("beside", inventory.beside);
    visit("crashed_idle", inventory.crashed_idle);
    visit("has", inventory.has, Required());
    visit("node", inventory.node, Required());
    visit("parts", inventory.parts);
  }
};

template <>
struct Fields<node::InventoryPart> {
  static void visit(auto& visit, auto& part) {
    visit("beside", part.beside);
    visit("has", part.has, Required());
  }
};

template <>
struct Fields<node::Report> {
  static void visit(auto& visit, auto& report) { visit("news", report.news, Required()); }
};

template <>
struct Fields<node::GoodBye> {
  static void visit(auto& visit, auto& bye) { visit("last", bye.last, Required()); }
};

template <>
struct Fields<node::Beat> {
  static void visit(auto& visit, auto& beat) {
    (void)visit;
    (void)beat;
  }
};

template <>
struct Fields<node::UpRecord> {
  static void visit(auto& visit, auto& message) {
    visit("beat", message.beat);
    visit("epoch", message.stamp.epoch);
    visit("good_bye", message.good_bye);
    visit("incarnation", message.stamp.incarnation, Required());
    visit("inventory", message.inventory);
    visit("node", message.node, Required());
    visit("part", message.part);
    visit("report", message.report);
    visit("taken", message.stamp.taken);
    visit("up", message.stamp.up, Required());
  }
  static Result<void> check(const node::UpRecord& message) {
    const int kinds = (message.inventory ? 1 : 0) + (message.report ? 1 : 0) +
                      (message.good_bye ? 1 : 0) + (message.beat ? 1 : 0) + (message.part ? 1 : 0);
    if (kinds == 1) return {};
    return Error(Errc::kInvalid,
                 "a message of a node is one of inventory, part, report, good_bye and beat");
  }
};

}  // namespace runnel::model

namespace runnel::node {
namespace {

Error other_version(std::int64_t version) {
  return Error(Errc::kUnsupported, "this is a message of version " + std::to_string(version) +
                                       ", and this build speaks version " +
                                       std::to_string(kWireVersion))
      .with_field("version")
      .with_value(std::to_string(version))
      .with_hint("run the same version of runnel on the node and where it is controlled");
}

template <typename T>
std::string text_of(const T& message) {
  std::string text;
  json::Writer out(text);
  out.begin_object();
  out.key("message");
  model::write_record(out, message);
  out.key("version").integer(kWireVersion);
  out.end_object();
  return text;
}

template <typename T>
Result<T> message_of(std::string_view text) {
  const json::Value document = TRY(json::parse(text));
  json::Reader reader = TRY(json::Reader::of(document, ""));
  const std::int64_t version = TRY(reader.integer("version"));
  if (version != kWireVersion) return other_version(version);
  const json::Value* message = TRY(reader.object("message"));
  TRY(reader.finish());
  return model::read_record<T>(*message, "message");
}

}  // namespace

std::string encode_text(const Up& message) {
  UpRecord record{message.node, message.stamp, {}, {}, {}, {}, {}};
  if (const auto* inventory = std::get_if<Inventory>(&message.what)) record.inventory = *inventory;
  if (const auto* report = std::get_if<Report>(&message.what)) record.report = *report;
  if (const auto* bye = std::get_if<GoodBye>(&message.what)) record.good_bye = *bye;
  if (std::holds_alternative<Beat>(message.what)) record.beat = Beat();
  if (const auto* part = std::get_if<InventoryPart>(&message.what)) record.part = *part;
  return text_of(record);
}

std::string encode_text(const model::NodeOrders& orders) { return text_of(orders); }

Result<Up> decode_up(std::string_view text) {
  UpRecord record = TRY(message_of<UpRecord>(text));
  Up message{std::move(record.node), std::move(record.stamp), Report()};
  if (record.inventory) message.what = *std::move(record.inventory);
  if (record.report) message.what = *std::move(record.report);
  if (record.good_bye) message.what = *std::move(record.good_bye);
  if (record.beat) message.what = *record.beat;
  if (record.part) message.what = *std::move(record.part);
  return message;
}

Result<model::NodeOrders> decode_orders(std::string_view text) {
  return message_of<model::NodeOrders>(text);
}

}  // namespace runnel::node
