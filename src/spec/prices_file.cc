#include "spec/prices_file.h"

#include <utility>

#include "model/names.h"
#include "spec/capacity.h"
#include "spec/scalars.h"
#include "spec/scope.h"
#include "spec/yaml.h"

namespace runnel::spec {
namespace {

const FieldTable& prices_fields() {
  static const FieldTable kTable{"a table of prices", {{.name = "instances", .form = Form::kAny}}};
  return kTable;
}

const FieldTable& instance_fields() {
  static const FieldTable kTable{"an instance type",
                                 {{.name = "cpus", .form = Form::kCpus},
                                  {.name = "memory", .form = Form::kBytes},
                                  {.name = "accelerators", .form = Form::kAccelerators},
                                  {.name = "price", .form = Form::kMoney},
                                  {.name = "spot_price", .form = Form::kMoney}}};
  return kTable;
}

// Reads the instance types one by one; faults go to the scope.
class PricesReader {
 public:
  explicit PricesReader(Diagnostics& faults) : scope_{faults, {}, {}} {}

  std::vector<model::InstanceType> run(const YamlNode& root) {
    const Item item{&root, ""};
    auto file = ObjectReader::open(scope_, item, prices_fields());
    if (!file) return {};
    const auto instances = file->take("instances");
    file->done();
    if (!instances || !instances->node->is_map() || instances->node->members.empty()) {
      scope_.refuse(instances.value_or(item), "`instances` is a mapping of names to types", "",
                    "write instances: {small: {cpus: 2, memory: 8GB, price: 0.1}}");
      return {};
    }
    for (const YamlMember& member : instances->node->members) read_type(*instances, member);
    return std::move(types_);
  }

 private:
  void read_type(const Item& instances, const YamlMember& member) {
    const std::string& name = member.key->text;
    const Item item{member.value.get(), instances.path_of(shown(name))};
    if (!model::is_name(name)) {
      scope_.refuse({member.key.get(), item.path},
                    "'" + shown(name) + "' " + model::name_fault(name, "cannot be a name"),
                    shown(name), "use letters, digits, '-', '_' and '.'");
    }
    auto object = ObjectReader::open(scope_, item, instance_fields());
    if (!object) return;
    model::InstanceType type;
    type.name = name;
    type.capacity = read_capacity(scope_, *object);
    const auto price = object->take("price");
    if (price) type.price = read_money(scope_, *price).value_or(Money());
    if (!price) refuse_missing(scope_, *object, "price", "0.1");
    if (const auto spot = object->take("spot_price")) {
      type.spot_price = read_money(scope_, *spot).value_or(Money());
    }
    object->done();
    types_.push_back(std::move(type));
  }

  Scope scope_;
  std::vector<model::InstanceType> types_;
};

}  // namespace

Result<std::vector<model::InstanceType>> parse_prices_file(std::string_view text,
                                                           const std::string& file) {
  const std::string_view source = without_byte_order_mark(text);
  const YamlNodePtr root = TRY(read_yaml(source, file));
  Diagnostics faults(file, source);
  std::vector<model::InstanceType> types = PricesReader(faults).run(*root);
  std::vector<Error> errors = faults.take();
  if (!errors.empty()) return std::move(errors.front());
  return types;
}

}  // namespace runnel::spec
