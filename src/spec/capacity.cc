#include "spec/capacity.h"

#include "spec/scalars.h"

namespace runnel::spec {

model::Resources read_capacity(Scope& scope, ObjectReader& object) {
  model::Resources capacity;
  if (const auto cpus = object.take("cpus")) {
    capacity.milli_cpus = read_cpus(scope, *cpus).value_or(0);
  } else {
    refuse_missing(scope, object, "cpus", "4");
  }
  if (const auto memory = object.take("memory")) {
    capacity.memory = read_bytes(scope, *memory, Bytes::mebi(1)).value_or(Bytes());
  } else {
    refuse_missing(scope, object, "memory", "16GB");
  }
  if (const auto devices = object.take("accelerators")) {
    capacity.accelerators = read_accelerators(scope, *devices).value_or(Accelerators());
  }
  return capacity;
}

void refuse_missing(const Scope& scope, const ObjectReader& object, const std::string& field,
                    const std::string& example) {
  const Item& item = object.item();
  if (item.node->find(field) != nullptr || object.misspelt(field)) return;
  scope.refuse(item, "`" + field + "` is missing", "", "add " + field + ": " + example);
}

}  // namespace runnel::spec
