#include "agent/preparation_records.h"

#include <string_view>
#include <utility>

#include "env/files.h"
#include "node/wire.h"

namespace runnel::agent {
namespace {

constexpr std::string_view kSuffix = ".json";

bool is_temporary(const std::string& name) {
  const std::size_t end = name.find(kSuffix);
  return end != std::string::npos &&
         env::is_temporary_of(std::string_view(name).substr(0, end + kSuffix.size()), name);
}

Result<PreparationRecords::Record> read_record(const std::string& path) {
  model::NodeOrders orders = TRY(node::decode_orders(TRY(env::read_file(path))));
  if (orders.start.size() != 1) {
    return Error(Errc::kCorrupt, "holds " + std::to_string(orders.start.size()) + " orders, not 1");
  }
  return PreparationRecords::Record{std::move(orders.node), std::move(orders.start.front())};
}

}  // namespace

// Names of nodes may hold dots: so theirs comes last.
std::string PreparationRecords::path_of(const runner::AttemptOnNode& of) const {
  const model::TaskRef& task = of.attempt.task;
  return folder_ + "/" + task.job.str() + "." + std::to_string(task.step.value()) + "." +
         std::to_string(task.index.value()) + "." + std::to_string(of.attempt.attempt.value()) +
         "." + of.node.str() + std::string(kSuffix);
}

Result<void> PreparationRecords::keep(const Record& record) const {
  model::NodeOrders orders;
  orders.node = record.node;
  orders.start = {record.order};
  TRY(env::make_directories(folder_, env::Access::kOwner));
  return env::write_file_atomically(path_of(record.of()), node::encode_text(orders),
                                    env::Access::kOwner);
}

Result<void> PreparationRecords::drop(const runner::AttemptOnNode& of) const {
  return env::remove_file(path_of(of));
}

Result<PreparationRecords::All> PreparationRecords::all() const {
  All all;
  if (!TRY(env::is_there(folder_))) return all;
  for (const std::string& name : TRY(env::list_directory(folder_))) {
    const std::string path = folder_ + "/" + name;
    if (is_temporary(name)) {
      // One of this process is of a keep() that is under way; another was left by a kill.
      if (!env::is_own_temporary(name)) TRY(env::remove_file(path));
      continue;
    }
    Result<Record> record = read_record(path);
    if (record.ok()) {
      all.records.push_back(std::move(*record));
    } else {
      all.unreadable.push_back(path + " does not say what was made ready for an attempt (" +
                               record.error().to_string() +
                               "): remove it once nothing of that attempt is left");
    }
  }
  return all;
}

}  // namespace runnel::agent
