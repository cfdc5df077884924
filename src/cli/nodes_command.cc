#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cli/commands.h"
#include "cli/cost_text.h"
#include "cli/devices_text.h"
#include "cli/moment_text.h"
#include "cli/print.h"
#include "cli/session.h"
#include "cli/silence.h"
#include "cli/target.h"
#include "http/message.h"
#include "model/node.h"

namespace runnel::cli {
namespace {

bool flag(const json::Value& node, std::string_view key) {
  const json::Value* value = node.find(key);
  return value != nullptr && value->dump() == "true";
}

std::string state_of(const json::Value& node) {
  const std::string reason = text_of(node, "reason");
  if (!flag(node, "up")) return "down (" + reason + ")";
  const std::string leaves = text_of(node, "leaves_at");
  if (!leaves.empty()) return "leaving at " + moment_text(leaves) + " (" + reason + ")";
  if (flag(node, "draining")) return "draining";
  return flag(node, "withholds_devices") ? "up (devices withheld)" : "up";
}

// "1.5/4": used of all.
std::string cpus_of(const json::Value& node) {
  const json::Value* used = node.find("used");
  const json::Value* all = node.find("capacity");
  if (used == nullptr || all == nullptr) return "-";
  return thousandths(number_of(*used, "milli_cpus")) + "/" +
         thousandths(number_of(*all, "milli_cpus"));
}

std::string memory_of(const json::Value& node) {
  const json::Value* all = node.find("capacity");
  return all == nullptr ? "-" : human(Bytes::count(number_of(*all, "memory")));
}

// "6/8 H100, 2/2 L4": free of all.
std::string free_devices_of(const json::Value& node) {
  const json::Value* devices = node.find("devices");
  const json::Value* all = node.find("capacity");
  if (devices == nullptr || all == nullptr) return "-";
  std::string text;
  for (const auto& [kind, free] : devices->find("free")->as_object()) {
    text += (text.empty() ? "" : ", ") + free.dump() + "/" +
            std::to_string(number_of(*all->find("accelerators"), kind)) + " " + kind;
  }
  return text;
}

std::string price_of(const json::Value& node) {
  const bool is_spot = flag(node, "spot");
  const json::Value* price = node.find("price");
  const json::Value* cheap = node.find("spot_price");
  const json::Value* paid = is_spot && cheap != nullptr ? cheap : price;
  if (paid == nullptr) return "-";
  return "$" + without_zeros(paid->dump()) + (is_spot ? "/h spot" : "/h");
}

// Those that nodes.yaml named once, and that have gone, are history.
json::Value::List members_of(const json::Value& answer, Output output) {
  json::Value::List nodes = list_at(answer, "nodes");
  if (output == Output::kWide) return nodes;
  std::erase_if(nodes, [](const json::Value& node) {
    return !flag(node, "up") && text_of(node, "reason") == model::kLeftReason;
  });
  return nodes;
}

std::string nodes_table(const json::Value::List& nodes) {
  const bool priced = std::any_of(nodes.begin(), nodes.end(), [](const json::Value& node) {
    return node.find("price") != nullptr || node.find("spot_price") != nullptr;
  });
  std::vector<std::string> header = {"NODE", "POOL", "STATE", "CPUS USED", "MEMORY", "LANES"};
  const bool devices = any_has_devices(nodes);
  if (devices) header.emplace_back("DEVICES FREE");
  if (priced) header.insert(header.end(), {"PRICE", "AS"});
  Table table(header);
  for (const json::Value& node : nodes) {
    std::vector<std::string> row = {text_of(node, "id"), text_of(node, "pool"),
                                    state_of(node),      cpus_of(node),
                                    memory_of(node),     std::to_string(number_of(node, "lanes"))};
    if (devices) row.push_back(free_devices_of(node));
    if (priced) row.insert(row.end(), {price_of(node), text_of(node, "instance", "-")});
    table.add(std::move(row));
  }
  return table_text(table);
}

std::string names_of(const json::Value& answer) {
  std::string text;
  const json::Value* nodes = answer.find("nodes");
  if (nodes == nullptr || !nodes->is_list()) return text;
  for (const json::Value& node : nodes->as_list()) text += text_of(node, "id") + "\n";
  return text;
}

// "1m80wqfeewtr/train/3", as `logs` takes it.
std::string holder_of(const json::Value& held) {
  const std::string step = text_of(held, "job") + "/" + text_of(held, "step");
  return held.find("task") == nullptr ? step : step + "/" + std::to_string(number_of(held, "task"));
}

// The holders of devices and what each has; empty when nobody holds any.
std::string holders_table(const json::Value& answer) {
  Table table({"NODE", "DEVICES", "HELD BY"});
  bool any = false;
  for (const json::Value& node : list_at(answer, "nodes")) {
    const json::Value* devices = node.find("devices");
    if (devices == nullptr) continue;
    for (const json::Value& held : list_at(*devices, "held")) {
      table.add({text_of(node, "id"), devices_text(*held.find("devices")), holder_of(held)});
      any = true;
    }
    for (const json::Value& stranger : list_at(*devices, "strangers")) {
      table.add({text_of(node, "id"), "any", "what is left of " + holder_of(stranger)});
      any = true;
    }
  }
  return any ? "\n" + table_text(table) : "";
}

// "H100:3 of gpu is missing since 2 minutes ago: NVML: GPU is lost": a line each, whatever is asked
// for, with what to do.
std::string quarantine_text(const json::Value::List& nodes) {
  std::string text;
  for (const json::Value& node : nodes) {
    const json::Value* devices = node.find("devices");
    if (devices == nullptr) continue;
    for (const json::Value& device : list_at(*devices, "quarantined")) {
      const std::string again = text_of(device, "again_at");
      text += text_of(device, "kind") + ":" + std::to_string(number_of(device, "index")) + " of " +
              text_of(node, "id") + " is granted to nobody: ";
      text += again.empty() ? "missing since " + moment_text(text_of(device, "since")) + " (" +
                                  text_of(device, "reason") + "); see nvidia-smi and dmesg there\n"
                            : "it vanished and is back; granted again at " + moment_text(again) +
                                  " if it stays\n";
    }
  }
  return text.empty() ? "" : "\n" + text;
}

std::string nodes_text(const json::Value& answer, Output output) {
  if (output == Output::kName) return names_of(answer);
  return nodes_table(members_of(answer, output)) +
         quarantine_text(members_of(answer, Output::kHuman)) +
         (output == Output::kWide ? holders_table(answer) : "");
}

}  // namespace

int list_nodes(const Arguments& arguments, const home::Home& home) {
  Session session(home, Start::kIfAbsent);
  if (auto connected = session.connect(); !connected.ok()) return fail(connected.error());
  const Result<json::Value> answer = session.get("/api/v1/nodes");
  if (!answer.ok()) return fail(answer.error());
  tell_of_silence(*answer);
  if (is_document(arguments.output)) {
    put(document(*answer, arguments.output));
  } else {
    put(nodes_text(*answer, arguments.output));
  }
  return 0;
}

int preempt_node(const Arguments& arguments, const home::Home& home) {
  CHECK(!arguments.node.empty(), "the command line names a node");
  Session session(home, Start::kIfAbsent);
  if (auto connected = session.connect(); !connected.ok()) return fail(connected.error());
  std::string target = "/api/v1/nodes/" + http::percent_encode(arguments.node) +
                       ":preempt?notice=" + http::percent_encode(arguments.notice) +
                       "&away=" + http::percent_encode(arguments.away);
  const Result<json::Value> answer = session.post(target);
  if (!answer.ok()) return fail(answer.error());
  if (is_document(arguments.output)) {
    put(document(*answer, arguments.output));
  } else {
    say("node " + arguments.node + " has its notice: it is gone in " + arguments.notice +
        ", and back " + arguments.away +
        " later, or with the daemon's next start (it begins anew when nodes.yaml is edited)");
  }
  return 0;
}

}  // namespace runnel::cli
