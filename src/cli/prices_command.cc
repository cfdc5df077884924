#include "cli/commands.h"
#include "cli/cost_text.h"
#include "cli/print.h"
#include "home/prices.h"

namespace runnel::cli {
namespace {

std::string devices_of(const model::InstanceType& type) {
  std::string text;
  for (const auto& [name, count] : type.capacity.accelerators) {
    text += (text.empty() ? "" : ", ") + name + ":" + std::to_string(count);
  }
  return text.empty() ? "-" : text;
}

json::Value prices_document(const std::vector<model::InstanceType>& types) {
  json::Value::List list;
  for (const model::InstanceType& type : types) {
    json::Value each = json::Value::object();
    each.set("name", json::Value::text(type.name));
    each.set("cpus", json::Value::decimal(thousandths(type.capacity.milli_cpus)));
    each.set("memory_bytes", json::Value::integer(type.capacity.memory.count()));
    each.set("accelerators", json::Value::text(devices_of(type)));
    each.set("price", json::Value::decimal(price_text(type.price)));
    each.set("spot_price", json::Value::decimal(price_text(type.spot_price)));
    list.push_back(std::move(each));
  }
  json::Value answer = json::Value::object();
  answer.set("instances", json::Value::list(std::move(list)));
  return answer;
}

std::string prices_table(const std::vector<model::InstanceType>& types) {
  Table table({"TYPE", "CPUS", "MEMORY", "DEVICES", "PRICE/H", "SPOT/H"});
  for (const model::InstanceType& type : types) {
    const bool spot = !type.spot_price.is_zero();
    table.add({type.name, thousandths(type.capacity.milli_cpus), human(type.capacity.memory),
               devices_of(type), "$" + price_text(type.price),
               spot ? "$" + price_text(type.spot_price) : "-"});
  }
  return table_text(table);
}

}  // namespace

int show_prices(const Arguments& arguments) {
  const Result<std::vector<model::InstanceType>> types = home::instance_types();
  if (!types.ok()) return fail(types.error());
  if (arguments.output == Output::kYaml) {  // The file itself: the start of one's own.
    const Result<std::string> text = home::prices_text();
    if (!text.ok()) return fail(text.error());
    put(*text);
  } else if (arguments.output == Output::kJson) {
    put(document(prices_document(*types), Output::kJson));
  } else {
    put(prices_table(*types));
  }
  return 0;
}

}  // namespace runnel::cli
