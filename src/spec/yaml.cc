#include "spec/yaml.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_set>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "base/check.h"
#include "base/units.h"
#include "spec/yaml_text.h"

namespace runnel::spec {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kShownKeyEnd = "...";
constexpr std::size_t kShownKeyMax = 60;
constexpr std::string_view kBadStart = "unknown token";
constexpr std::string_view kOpenQuote = "illegal EOF in scalar";  // As the parser says elsewhere.

std::string shown_key(const std::string& key) {
  if (key.size() <= kShownKeyMax) return key;
  return key.substr(0, kShownKeyMax).append(kShownKeyEnd);
}

Error tag_error(const std::string& tag) {
  return Error(Errc::kInvalid, "the YAML tag '" + shown_key(tag) + "' is not allowed")
      .with_value(shown_key(tag))
      .with_hint("delete the tag; put quotes around what is text");
}

Error nul_error() {
  return Error(Errc::kInvalid, "the text holds a NUL character")
      .with_value("\\0")
      .with_hint("remove the escape \\0");
}

Error self_alias_error() {
  return Error(Errc::kInvalid, "the alias refers to the value that it is part of")
      .with_hint("write the value out");
}

Error depth_error() {
  return Error(Errc::kInvalid,
               "values are nested more than " + std::to_string(kYamlDepthMax) + " deep")
      .with_hint("flatten the file");
}

Error size_error(const std::string& limit) {
  return Error(Errc::kInvalid,
               "the file holds more than " + limit + " once its aliases are followed")
      .with_hint("write fewer values, or a {range: [low, high]}");
}

Error key_kind_error(const YamlNode& key) {
  return Error(Errc::kInvalid, "a key must be text, and this one is " + std::string(kind_name(key)))
      .with_hint("put quotes around text that begins with '{' or '['");
}

Error merge_key_error() {
  return Error(Errc::kInvalid, "'<<' is a YAML 1.1 merge key, and job files are YAML 1.2")
      .with_value("<<")
      .with_hint("write common fields once beside `steps`: they are defaults");
}

Error repeated_key_error(const std::string& key) {
  return Error(Errc::kInvalid, "the key '" + shown_key(key) + "' is given twice")
      .with_field(shown_key(key))
      .with_value(shown_key(key))
      .with_hint("keep one of the two");
}

Error documents_error() {
  return Error(Errc::kUnsupported, "several documents in one file (`---`) are not in this version")
      .with_value("---")
      .with_hint("write one file with `steps`");
}

// Builds the values of the first document from the parser's events.
//
// Contract: keeps the first fault and ignores every event after it; a document after the first may
//           only be empty. take() or fault() when the parser is done.
// Why:      the parser's own nodes follow aliases without limit and resolve YAML 1.1 merge keys.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string_view text) : text_(text) {}

  const std::optional<TextFault>& fault() const { return fault_; }
  // A null for a file without a document.
  YamlNodePtr take() {
    CHECK(!fault_.has_value(), "what was refused has no value");
    return root_ == nullptr ? std::make_shared<YamlNode>() : std::move(root_);
  }

  // The parser gives one empty document after the other when it cannot go on, as before a comma.
  void OnDocumentStart(const YAML::Mark& mark) override {
    const std::size_t offset = offset_of(mark);
    const bool stuck = documents_ > 0 && offset <= document_;
    if (stuck) refuse(offset, explain_yaml_error(kBadStart, text_, offset));
    document_ = offset;
    ++documents_;
  }
  void OnDocumentEnd() override {
    if (!fault_) CHECK(open_.empty(), "a document ends with all its values");
  }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (documents_ > 1 || !admit(mark, "")) return;
    add(leaf(YamlNode::Kind::kNull, mark), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (!admit(mark, tag)) return;
    auto node = leaf(YamlNode::Kind::kScalar, mark);
    node->quoted = tag == "!";
    node->text = value;
    node->text_bytes = value.size();
    if (value.find('\0') != std::string::npos) return refuse(node->offset, nul_error());
    if (node->quoted && !quote_is_closed(text_, node->offset)) {
      return refuse(node->offset, explain_yaml_error(kOpenQuote, text_, node->offset));
    }
    add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (!admit(mark, "")) return;
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) return refuse(offset_of(mark), self_alias_error());
    add_value(found->second, offset_of(mark));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    if (admit(mark, tag)) open(YamlNode::Kind::kList, mark, anchor, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    if (admit(mark, tag)) open(YamlNode::Kind::kMap, mark, anchor, style);
  }
  void OnMapEnd() override { close(); }

 private:
  // A list or mapping whose end was not seen yet.
  struct Open {
    std::shared_ptr<YamlNode> node;
    YAML::anchor_t anchor = 0;
    bool flow = false;
    YamlNodePtr key;  // A mapping's key that was read and waits for its value.
    std::unordered_set<std::string> keys;
  };

  void refuse(std::size_t offset, Error error) {
    if (!fault_) fault_ = TextFault{offset, std::move(error)};
  }

  std::size_t offset_of(const YAML::Mark& mark) const {
    return mark.pos < 0 ? 0 : std::min(static_cast<std::size_t>(mark.pos), text_.size());
  }

  bool in_flow() const { return !open_.empty() && open_.back().flow; }

  // Whether a value may begin here; keeps the fault if not.
  bool admit(const YAML::Mark& mark, const std::string& tag) {
    const std::size_t offset = offset_of(mark);
    if (documents_ > 1) refuse(offset, documents_error());
    if (!tag.empty() && tag != "?" && tag != "!") refuse(offset, tag_error(tag));
    if (!in_flow() && offset < text_.size() && indented_by_tab(text_, offset)) {
      refuse(*tab_near(text_, offset), tab_error());
    }
    return !fault_.has_value();
  }

  std::shared_ptr<YamlNode> leaf(YamlNode::Kind kind, const YAML::Mark& mark) const {
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->offset = offset_of(mark);
    return node;
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style) {
    if (open_.size() >= static_cast<std::size_t>(kYamlDepthMax)) {
      return refuse(offset_of(mark), depth_error());
    }
    const bool flow = style == YAML::EmitterStyle::Flow || in_flow();
    open_.push_back({leaf(kind, mark), anchor, flow, nullptr, {}});
  }

  void close() {
    if (fault_) return;
    CHECK(!open_.empty(), "the parser ends only what it began");
    CHECK(open_.back().key == nullptr, "the parser gives every key a value");
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.node), done.anchor);
  }

  void add(std::shared_ptr<YamlNode> node, YAML::anchor_t anchor) {
    const std::size_t offset = node->offset;
    const YamlNodePtr value = std::move(node);
    if (anchor != 0) anchors_[anchor] = value;
    add_value(value, offset);
  }

  void add_value(const YamlNodePtr& value, std::size_t offset) {
    const std::size_t depth = open_.size() + static_cast<std::size_t>(value->height);
    if (depth > static_cast<std::size_t>(kYamlDepthMax)) return refuse(offset, depth_error());
    if (open_.empty()) {
      CHECK(root_ == nullptr, "a document has one value");
      root_ = value;
      return;
    }
    Open& parent = open_.back();
    if (parent.node->is_map() && parent.key == nullptr) return take_key(value, offset);
    grow(*value, offset);
    if (parent.node->is_list()) {
      parent.node->items.push_back(value);
    } else {
      parent.node->members.push_back({std::exchange(parent.key, nullptr), value});
    }
  }

  // Counts aliases as if they were written out: that is what reading the tree will cost.
  void grow(const YamlNode& child, std::size_t offset) {
    YamlNode& parent = *open_.back().node;
    CHECK(child.expanded <= kYamlNodesMax, "a value was counted when it was complete");
    parent.expanded += child.expanded;
    parent.text_bytes += child.text_bytes;
    parent.height = std::max(parent.height, child.height + 1);
    if (parent.expanded > kYamlNodesMax) {
      refuse(offset, size_error(std::to_string(kYamlNodesMax) + " values"));
    }
    if (parent.text_bytes > kYamlTextMax) {
      refuse(offset, size_error(runnel::to_string(Bytes::count(kYamlTextMax)) + " of text"));
    }
  }

  void take_key(const YamlNodePtr& value, std::size_t offset) {
    Open& map = open_.back();
    if (value->is_list() || value->is_map()) return refuse(offset, key_kind_error(*value));
    if (value->text == "<<" && !value->quoted) return refuse(offset, merge_key_error());
    if (!map.keys.insert(value->text).second) {
      return refuse(offset, repeated_key_error(value->text));
    }
    grow(*value, offset);
    map.key = value;
  }

  std::string_view text_;
  std::size_t documents_ = 0;
  std::size_t document_ = 0;  // Start of the latest one.
  YamlNodePtr root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNodePtr> anchors_;
  std::optional<TextFault> fault_;
};

Error located(TextFault fault, std::string_view text, const std::string& file) {
  return std::move(fault.error.at(position_at(text, fault.offset, file)));
}

TextFault fault_of(const YAML::Exception& thrown, std::string_view text) {
  const int pos = thrown.mark.pos;
  const std::size_t offset = pos < 0 ? 0 : std::min(static_cast<std::size_t>(pos), text.size());
  if (const auto tab = tab_near(text, offset)) return {*tab, tab_error()};
  return {offset, explain_yaml_error(thrown.msg, text, offset)};
}

// Runs the parser over all documents; what it throws becomes a fault.
std::optional<TextFault> parse(std::string_view text, TreeBuilder& builder) {
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    while (!builder.fault() && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& thrown) {
    return fault_of(thrown, text);
  } catch (const std::exception& thrown) {
    return TextFault{0, explain_yaml_error(thrown.what(), text, 0)};
  }
  return std::nullopt;
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const YamlMember& member : members) {
    if (member.key->text == key) return member.value.get();
  }
  return nullptr;
}

std::string_view kind_name(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull: return "nothing";
    case YamlNode::Kind::kScalar: return "text";
    case YamlNode::Kind::kList: return "a list";
    case YamlNode::Kind::kMap: return "a mapping";
  }
  return "nothing";
}

std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

SourcePosition position_at(std::string_view text, std::size_t offset, const std::string& file) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const std::size_t newline = before.rfind('\n');
  const std::string_view line =
      newline == std::string_view::npos ? before : before.substr(newline + 1);
  const auto continuation = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  SourcePosition position;
  position.file = file;
  position.line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
  position.column = static_cast<int>(line.size()) + 1 -
                    static_cast<int>(std::count_if(line.begin(), line.end(), continuation));
  CHECK(position.line >= 1, "lines count from 1");
  CHECK(position.column >= 1, "columns count from 1, whatever the bytes are");
  return position;
}

Result<YamlNodePtr> read_yaml(std::string_view text, const std::string& file) {
  text = without_byte_order_mark(text);
  if (auto fault = fault_of_text(text)) return located(std::move(*fault), text, file);
  TreeBuilder builder(text);
  std::optional<TextFault> said = parse(text, builder);
  // The builder saw its fault first: the parser goes on after it.
  if (builder.fault()) return located(*builder.fault(), text, file);
  if (said) return located(std::move(*said), text, file);
  return builder.take();
}

}  // namespace runnel::spec
