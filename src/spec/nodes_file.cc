#include "spec/nodes_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/nearest.h"
#include "model/names.h"
#include "spec/capacity.h"
#include "spec/scalars.h"
#include "spec/scope.h"
#include "spec/yaml.h"

namespace runnel::spec {
namespace {

// Reads the list of nodes; faults go to the scope.
class NodesReader {
 public:
  NodesReader(Diagnostics& faults, const std::vector<model::InstanceType>& types)
      : scope_{faults, {}, {}}, types_(types) {}

  std::vector<model::NodeInfo> run(const YamlNode& root) {
    const Item item{&root, ""};
    auto file = ObjectReader::open(scope_, item, nodes_file_fields());
    if (!file) return {};
    if (const auto nodes = file->take("nodes")) {
      read_nodes(*nodes);
    } else if (root.find("nodes") == nullptr) {
      scope_.refuse(item, "`nodes` is missing", "",
                    "write nodes: [{name: a, cpus: 4, memory: 16GB}]");
    }
    file->done();
    return std::move(nodes_);
  }

 private:
  void read_nodes(const Item& item) {
    if (!item.node->is_list()) {
      scope_.refuse(item, "`nodes` is a list, and this is " + std::string(kind_name(*item.node)),
                    shown(*item.node), "write [{name: a, cpus: 4, memory: 16GB}]");
      return;
    }
    const std::size_t count = item.node->items.size();
    if (count == 0 || count > model::kNodesMax) {
      scope_.refuse(item, std::to_string(count) + " nodes", std::to_string(count),
                    "write from 1 to " + std::to_string(model::kNodesMax));
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      read_node({item.node->items[i].get(), item.path_of(std::to_string(i))});
    }
  }

  void read_node(const Item& item) {
    auto object = ObjectReader::open(scope_, item, node_fields());
    if (!object) return;
    model::NodeInfo node;
    read_names(*object, node);
    node.capacity = read_capacity(scope_, *object);
    if (const auto spot = object->take("spot"))
      node.spot = read_boolean(scope_, *spot).value_or(false);
    if (const auto colocate = object->take("colocate")) {
      node.colocate = read_boolean(scope_, *colocate).value_or(false);
    }
    read_price(*object, node);
    object->done();
    nodes_.push_back(std::move(node));
  }

  void read_price(ObjectReader& object, model::NodeInfo& node) {
    const auto instance = object.take("instance");
    if (instance) node.instance = read_instance(*instance);
    const auto price = object.take("price");
    if (!price) model::price_as(node, types_);
    if (price) node.price = read_money(scope_, *price).value_or(Money());
    if (const auto spot = object.take("spot_price")) {
      node.spot_price = read_money(scope_, *spot).value_or(Money());
    }
  }

  std::string read_instance(const Item& item) {
    std::string name = read_verbatim(scope_, item).value_or("");
    std::vector<std::string_view> known;
    known.reserve(types_.size());
    for (const model::InstanceType& type : types_) known.emplace_back(type.name);
    const bool found = std::find(known.begin(), known.end(), name) != known.end();
    if (found || known.empty() || name.empty()) return name;
    const std::string near = nearest(name, known);
    scope_.refuse(item, "'" + shown(name) + "' is not in the table of prices", shown(name),
                  near.empty() ? "the types are " + listed(known) : "did you mean " + near + "?");
    return {};
  }

  void read_names(ObjectReader& object, model::NodeInfo& node) {
    if (const auto name = object.take("name")) {
      node.id = NodeId(read_name(*name));
      const bool fresh = node.id.empty() || seen_.insert(node.id.str()).second;
      if (!fresh) {
        scope_.refuse(*name, "the node '" + node.id.str() + "' is listed twice", node.id.str(),
                      "give each node a name of its own");
      }
    } else {
      refuse_missing(scope_, object, "name", "a");
    }
    if (const auto pool = object.take("pool")) node.pool = read_name(*pool);
  }

  std::string read_name(const Item& item) {
    std::string text = read_verbatim(scope_, item).value_or("");
    if (model::is_name(text) || !item.node->is_scalar()) return text;
    scope_.refuse(item, "'" + shown(text) + "' " + model::name_fault(text, "cannot be a name"),
                  shown(text), "use letters, digits, '-', '_' and '.'");
    return {};
  }

  Scope scope_;
  const std::vector<model::InstanceType>& types_;
  std::set<std::string> seen_;
  std::vector<model::NodeInfo> nodes_;
};

}  // namespace

Result<std::vector<model::NodeInfo>> parse_nodes_file(
    std::string_view text, const std::string& file, const std::vector<model::InstanceType>& types) {
  const std::string_view source = without_byte_order_mark(text);
  const YamlNodePtr root = TRY(read_yaml(source, file));
  Diagnostics faults(file, source);
  std::vector<model::NodeInfo> nodes = NodesReader(faults, types).run(*root);
  std::vector<Error> errors = faults.take();
  if (!errors.empty()) return std::move(errors.front());
  CHECK(nodes.size() <= model::kNodesMax, "the list was bounded before it was read");
  CHECK(!nodes.empty(), "a nodes file without faults has a node");
  return nodes;
}

}  // namespace runnel::spec
