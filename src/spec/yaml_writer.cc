#include "spec/yaml_writer.h"

#include <algorithm>

#include "spec/yaml_scalar.h"

namespace runnel::spec {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kBracketsMax = 80;  // Bytes of a list that stays on one line.

std::string scalar_text(const YamlNode& node) {
  if (node.is_null()) return "null";
  return node.quoted ? yaml_scalar(node.text) : node.text;
}

// Whether a block scalar gives the text back unchanged: lines that end, and none that looks
// indented or blank at the front.
bool fits_below_bar(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  });
  const std::size_t newline = text.find('\n');
  return plain && newline != std::string::npos && newline > 0 && text.front() != ' ' &&
         (text.size() < 2 || text.substr(text.size() - 2) != "\n\n");
}

bool fits_in_brackets(const YamlNode& node) {
  std::size_t size = 0;
  for (const YamlNodePtr& item : node.items) {
    if (!item->is_scalar()) return false;
    const std::string text = scalar_text(*item);
    const bool safe = text.find_first_of(",[]{}") == std::string::npos || text.front() == '"';
    if (!safe) return false;
    size += text.size() + 2;
  }
  return size <= kBracketsMax;
}

std::string in_brackets(const YamlNode& node) {
  std::string out;
  for (const YamlNodePtr& item : node.items) out += (out.empty() ? "" : ", ") + scalar_text(*item);
  return "[" + out + "]";
}

void write_block(std::string& out, const std::string& text, std::size_t depth) {
  out += text.back() == '\n' ? " |\n" : " |-\n";
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.empty()) out.append(depth * kIndent, ' ').append(line);
    out += '\n';
  }
}

void write_members(std::string& out, const YamlNode& map, std::size_t depth);

// Writes what follows a key's colon or a list's dash.
void write_value(std::string& out, const YamlNode& node, std::size_t depth) {
  if (node.is_map() && !node.members.empty()) {
    out += '\n';
    write_members(out, node, depth);
  } else if (node.is_list() && !fits_in_brackets(node)) {
    out += '\n';
    for (const YamlNodePtr& item : node.items) {
      out.append(depth * kIndent, ' ').append("-");
      write_value(out, *item, depth + 1);
    }
  } else if (node.is_list()) {
    out += " " + in_brackets(node) + "\n";
  } else if (node.is_map()) {
    out += " {}\n";
  } else if (node.quoted && fits_below_bar(node.text)) {
    write_block(out, node.text, depth);
  } else {
    out += " " + scalar_text(node) + "\n";
  }
}

void write_members(std::string& out, const YamlNode& map, std::size_t depth) {
  for (const YamlMember& member : map.members) {
    out.append(depth * kIndent, ' ').append(yaml_scalar(member.key->text)).append(":");
    write_value(out, *member.value, depth + 1);
  }
}

}  // namespace

std::string write_yaml(const YamlNode& root) {
  std::string out;
  if (root.is_map() && !root.members.empty()) {
    write_members(out, root, 0);
  } else {
    write_value(out, root, 0);
  }
  return out;
}

}  // namespace runnel::spec
