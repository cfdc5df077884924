#include "spec/yaml.h"

#include <algorithm>
#include <map>
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

// Leaves yaml-cpp early; caught in read_yaml() and never outside.
struct Refused {
  TextFault fault;
};

std::string shown_key(const std::string& key) {
  if (key.size() <= kShownKeyMax) return key;
  return key.substr(0, kShownKeyMax).append(kShownKeyEnd);
}

// Builds the values of one document from the parser's events.
//
// Contract: throws Refused at the first fault. `take()` after the document ended.
// Why:      the parser's own nodes follow aliases without limit and resolve YAML 1.1 merge keys.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string_view text) : text_(text) {}

  YamlNodePtr take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override { CHECK(open_.empty(), "a document ends with all its values"); }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(leaf(YamlNode::Kind::kNull, mark), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_tag(tag, mark);
    auto node = leaf(YamlNode::Kind::kScalar, mark);
    node->quoted = tag == "!";
    node->text = value;
    node->text_bytes = value.size();
    if (value.find('\0') != std::string::npos) {
      refuse(node->offset, Error(Errc::kInvalid, "the text holds a NUL character")
                               .with_value("\\0")
                               .with_hint("remove the escape \\0"));
    }
    if (node->quoted && !quote_is_closed(text_, node->offset)) {
      refuse(node->offset, explain_yaml_error("illegal EOF in scalar", text_, node->offset));
    }
    add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const std::size_t offset = offset_of(mark);
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      refuse(offset, Error(Errc::kInvalid, "the alias refers to the value that it is part of")
                         .with_hint("write the value out"));
    }
    add_value(found->second, offset);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(YamlNode::Kind::kList, mark, tag, anchor, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(YamlNode::Kind::kMap, mark, tag, anchor, style);
  }
  void OnMapEnd() override { close(); }

 private:
  // A list or mapping whose end was not seen yet.
  struct Open {
    std::shared_ptr<YamlNode> node;
    YAML::anchor_t anchor = 0;
    bool flow = false;
    YamlNodePtr key;  // Of a mapping: read, waiting for its value.
    std::unordered_set<std::string> keys;
  };

  [[noreturn]] static void refuse(std::size_t offset, Error error) {
    throw Refused{{offset, std::move(error)}};
  }

  std::size_t offset_of(const YAML::Mark& mark) const {
    return mark.pos < 0 ? 0 : std::min(static_cast<std::size_t>(mark.pos), text_.size());
  }

  void refuse_tag(const std::string& tag, const YAML::Mark& mark) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    refuse(offset_of(mark),
           Error(Errc::kInvalid, "the YAML tag '" + shown_key(tag) + "' is not allowed")
               .with_value(shown_key(tag))
               .with_hint("delete the tag; put quotes around what is text"));
  }

  std::shared_ptr<YamlNode> leaf(YamlNode::Kind kind, const YAML::Mark& mark) const {
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->offset = offset_of(mark);
    const bool in_flow = !open_.empty() && open_.back().flow;
    if (kind != YamlNode::Kind::kNull && !in_flow && indented_by_tab(text_, node->offset)) {
      refuse(*tab_near(text_, node->offset), tab_error());
    }
    return node;
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor, YAML::EmitterStyle::value style) {
    refuse_tag(tag, mark);
    const bool flow = style == YAML::EmitterStyle::Flow || (!open_.empty() && open_.back().flow);
    open_.push_back({leaf(kind, mark), anchor, flow, nullptr, {}});
    check_depth(open_.size(), open_.back().node->offset);
  }

  void close() {
    CHECK(!open_.empty(), "the parser ends only what it began");
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.node), done.anchor);
  }

  static void check_depth(std::size_t depth, std::size_t offset) {
    if (depth <= static_cast<std::size_t>(kYamlDepthMax)) return;
    refuse(offset, Error(Errc::kInvalid,
                         "values are nested more than " + std::to_string(kYamlDepthMax) + " deep")
                       .with_hint("flatten the file"));
  }

  void add(std::shared_ptr<YamlNode> node, YAML::anchor_t anchor) {
    const std::size_t offset = node->offset;
    const YamlNodePtr value = std::move(node);
    if (anchor != 0) anchors_[anchor] = value;
    add_value(value, offset);
  }

  void add_value(const YamlNodePtr& value, std::size_t offset) {
    check_depth(open_.size() + static_cast<std::size_t>(value->height), offset);
    if (open_.empty()) {
      root_ = value;
    } else if (open_.back().node->is_list()) {
      open_.back().node->items.push_back(value);
      grow(*value, offset);
    } else if (open_.back().key == nullptr) {
      take_key(value, offset);
    } else {
      open_.back().node->members.push_back({std::move(open_.back().key), value});
      grow(*value, offset);
    }
  }

  // Counts aliases as if they were written out: that is what reading the tree will cost.
  void grow(const YamlNode& child, std::size_t offset) {
    YamlNode& parent = *open_.back().node;
    parent.expanded += child.expanded;
    parent.text_bytes += child.text_bytes;
    parent.height = std::max(parent.height, child.height + 1);
    if (parent.expanded > kYamlNodesMax)
      refuse_size(offset, std::to_string(kYamlNodesMax) + " values");
    if (parent.text_bytes > kYamlTextMax) {
      refuse_size(offset, runnel::to_string(Bytes::count(kYamlTextMax)) + " of text");
    }
  }

  [[noreturn]] static void refuse_size(std::size_t offset, const std::string& limit) {
    refuse(offset, Error(Errc::kInvalid,
                         "the file holds more than " + limit + " once its aliases are followed")
                       .with_hint("write fewer values, or a {range: [low, high]}"));
  }

  void take_key(const YamlNodePtr& value, std::size_t offset) {
    if (value->is_list() || value->is_map()) {
      refuse(offset, Error(Errc::kInvalid,
                           "a key must be text, and this one is " + std::string(kind_name(*value)))
                         .with_hint("put quotes around text that begins with '{' or '['"));
    }
    Open& map = open_.back();
    if (value->text == "<<" && !value->quoted) {
      refuse(offset,
             Error(Errc::kInvalid, "'<<' is a YAML 1.1 merge key, and job files are YAML 1.2")
                 .with_value("<<")
                 .with_hint("write common fields once beside `steps`: they are defaults"));
    }
    if (!map.keys.insert(value->text).second) {
      refuse(offset,
             Error(Errc::kInvalid, "the key '" + shown_key(value->text) + "' is given twice")
                 .with_field(shown_key(value->text))
                 .with_value(shown_key(value->text))
                 .with_hint("keep one of the two"));
    }
    grow(*value, offset);
    map.key = value;
  }

  std::string_view text_;
  YamlNodePtr root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNodePtr> anchors_;
};

// Accepts an empty document and refuses any other; for what follows the first one.
class EmptyOnly : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    refuse(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    refuse(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    refuse(mark);
  }
  void OnMapEnd() override {}

 private:
  [[noreturn]] static void refuse(const YAML::Mark& mark) {
    throw Refused{
        {mark.pos < 0 ? 0 : static_cast<std::size_t>(mark.pos),
         Error(Errc::kUnsupported, "several documents in one file (`---`) are not in this version")
             .with_value("---")
             .with_hint("write one file with `steps`")}};
  }
};

YamlNodePtr parse_documents(std::string_view text) {
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  TreeBuilder builder(text);
  if (!parser.HandleNextDocument(builder)) return std::make_shared<YamlNode>();
  EmptyOnly rest;
  while (parser.HandleNextDocument(rest)) {
  }
  return builder.take();
}

TextFault fault_of(const YAML::Exception& thrown, std::string_view text) {
  const int pos = thrown.mark.pos;
  const std::size_t offset = pos < 0 ? 0 : std::min(static_cast<std::size_t>(pos), text.size());
  if (const auto tab = tab_near(text, offset)) return {*tab, tab_error()};
  return {offset, explain_yaml_error(thrown.msg, text, offset)};
}

Error located(TextFault fault, std::string_view text, const std::string& file) {
  return std::move(fault.error.at(position_at(text, fault.offset, file)));
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
  return position;
}

Result<YamlNodePtr> read_yaml(std::string_view text, const std::string& file) {
  text = without_byte_order_mark(text);
  if (auto fault = fault_of_text(text)) return located(std::move(*fault), text, file);
  try {
    return parse_documents(text);
  } catch (const Refused& refused) {
    return located(refused.fault, text, file);
  } catch (const YAML::Exception& thrown) {
    return located(fault_of(thrown, text), text, file);
  } catch (const std::exception& thrown) {
    return located({0, explain_yaml_error(thrown.what(), text, text.size())}, text, file);
  }
}

}  // namespace runnel::spec
