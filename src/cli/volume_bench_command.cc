#include <algorithm>
#include <array>
#include <cstdio>

#include "cli/print.h"
#include "cli/table.h"
#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "env/clock.h"
#include "env/files.h"
#include "volume/folder_bench.h"

namespace runnel::cli {
namespace {

constexpr Duration kShortest = Duration::millis(1);  // What a clock can tell.

std::string rate_text(const volume::BenchRow& row, Duration time) {
  const double seconds = static_cast<double>(std::max(time, kShortest).millis()) / 1'000;
  std::array<char, 48> text{};
  if (row.name == "long") {
    std::snprintf(text.data(), text.size(), "%.0f MB/s",
                  static_cast<double>(row.bytes) / 1e6 / seconds);
  } else {
    std::snprintf(text.data(), text.size(), "%.0f/s", static_cast<double>(row.count) / seconds);
  }
  return text.data();
}

json::Value row_document(const volume::BenchRow& row) {
  json::Value value = json::Value::object();
  value.set("row", json::Value::text(row.name));
  value.set("count", json::Value::integer(row.count));
  value.set("bytes", json::Value::integer(row.bytes));
  if (row.passed_over > 0) value.set("passed_over", json::Value::integer(row.passed_over));
  value.set("first_ms", json::Value::integer(row.first.millis()));
  value.set("again_ms", json::Value::integer(row.again.millis()));
  return value;
}

}  // namespace

Result<int> bench_mount(const Arguments& arguments) {
  const std::string folder = TRY(env::real_path(arguments.target));
  const std::vector<volume::BenchRow> rows =
      TRY(volume::bench_folder(env::real_clock(), folder, {}));
  Table table({"READ", "COUNT", "BYTES", "FIRST", "AGAIN"});
  json::Value::List list;
  for (const volume::BenchRow& row : rows) {
    const std::string bytes = row.bytes == 0 ? "-" : human(Bytes::count(row.bytes));
    table.add({row.what, std::to_string(row.count), bytes, rate_text(row, row.first),
               rate_text(row, row.again)});
    list.push_back(row_document(row));
    if (row.passed_over > 0) {
      say("runnel: warning: " + row.what + ": passed over " +
          count_text(row.passed_over, "read", "reads") + " that failed");
    }
  }
  json::Value value = json::Value::object();
  value.set("dir", json::Value::text(folder));
  value.set("rows", json::Value::list(std::move(list)));
  answer(arguments, value, table_text(table));
  return 0;
}

}  // namespace runnel::cli
