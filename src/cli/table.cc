#include "cli/table.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "cli/printable.h"
#include "cli/text_width.h"

namespace runnel::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::string_view kIdHeader = "ID";
// Words up to here are left whole as long as other columns can give room.
constexpr std::size_t kWordWhole = 16;
constexpr std::size_t kWordLeast = 4;

constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kCyan = "\x1b[36m";
constexpr std::string_view kPlain = "\x1b[0m";

struct StateColour {
  std::string_view state;
  std::string_view colour;
};

constexpr std::array<StateColour, 13> kColours = {{{"SUCCEEDED", kGreen},
                                                   {"up", kGreen},
                                                   {"RUNNING", kCyan},
                                                   {"STARTING", kCyan},
                                                   {"FAILED", kRed},
                                                   {"TIMEOUT", kRed},
                                                   {"OUT_OF_MEMORY", kRed},
                                                   {"NODE_FAIL", kRed},
                                                   {"PAUSED", kYellow},
                                                   {"PRUNED", kYellow},
                                                   {"PREEMPTED", kYellow},
                                                   {"RECOVERING", kYellow},
                                                   {"CANCELLED", kYellow}}};

std::string coloured(const std::string& cell) {
  const auto found = std::find_if(kColours.begin(), kColours.end(),
                                  [&](const StateColour& each) { return each.state == cell; });
  if (found == kColours.end()) return cell;
  return std::string(found->colour).append(cell).append(kPlain);
}

std::size_t longest_word(const std::string& cell) {
  std::size_t longest = 0;
  for (const std::string& word : wrapped(cell, 1)) longest = std::max(longest, text_width(word));
  return longest;
}

std::size_t total_of(const std::vector<std::size_t>& widths) {
  const std::size_t gaps = widths.empty() ? 0 : kGap * (widths.size() - 1);
  return std::accumulate(widths.begin(), widths.end(), gaps);
}

// Takes `excess` from the widest columns, as far as their floors allow.
void shrink(std::vector<std::size_t>& widths, const std::vector<std::size_t>& floors,
            std::size_t columns) {
  for (std::size_t total = total_of(widths); total > columns; --total) {
    std::size_t widest = widths.size();
    for (std::size_t at = 0; at < widths.size(); ++at) {
      if (widths[at] <= floors[at]) continue;
      if (widest == widths.size() || widths[at] > widths[widest]) widest = at;
    }
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

std::vector<std::string> cell_lines(const std::string& cell, std::size_t width) {
  std::vector<std::string> lines = wrapped(cell, width);
  for (std::string& line : lines) line = cut_to(line, width);
  return lines;
}

// One row, as many lines as its highest cell has.
std::string row_text(const std::vector<std::string>& row, const std::vector<std::size_t>& widths,
                     bool colours) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (std::size_t cell = 0; cell < row.size(); ++cell) {
    height = std::max(height, cells.emplace_back(cell_lines(row[cell], widths[cell])).size());
  }
  std::string text;
  for (std::size_t line = 0; line < height; ++line) {
    std::string out;
    std::size_t pad = 0;
    for (std::size_t cell = 0; cell < cells.size(); ++cell) {
      const std::string part = line < cells[cell].size() ? cells[cell][line] : std::string();
      if (!part.empty())
        out.append(std::exchange(pad, 0), ' ').append(colours ? coloured(part) : part);
      pad += widths[cell] - text_width(part) + kGap;
    }
    text += out + "\n";
  }
  return text;
}

}  // namespace

void Table::add(std::vector<std::string> row) {
  CHECK(!row.empty(), "a row of a table without cells");
  for (std::string& cell : row) cell = printable(cell);
  rows_.push_back(std::move(row));
}

Table::Widths Table::natural_widths() const {
  Widths widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t cell = 0; cell < row.size(); ++cell) {
      widths[cell] = std::max(widths[cell], text_width(row[cell]));
    }
  }
  return widths;
}

// What columns need for their words of up to `word_max`, from row `first` on.
Table::Widths Table::floors(std::size_t first, std::size_t word_max) const {
  Widths widths = natural_widths();
  for (std::size_t cell = 0; cell < rows_.front().size(); ++cell) {
    if (rows_.front()[cell] == kIdHeader) continue;
    std::size_t word = kWordLeast;
    for (std::size_t row = first; row < rows_.size(); ++row) {
      if (cell < rows_[row].size()) word = std::max(word, longest_word(rows_[row][cell]));
    }
    widths[cell] = std::min({word, word_max, widths[cell]});
  }
  return widths;
}

Table::Widths Table::fitted(std::size_t columns) const {
  Widths widths = natural_widths();
  if (columns == 0) return widths;
  shrink(widths, floors(0, kWordWhole), columns);
  shrink(widths, floors(1, kWordWhole), columns);  // The words of the header go first.
  shrink(widths, floors(1, kWordLeast), columns);
  return widths;
}

std::string Table::tabbed() const {
  std::string text;
  for (const auto& row : rows_) {
    for (std::size_t cell = 0; cell < row.size(); ++cell)
      text += (cell == 0 ? "" : "\t") + row[cell];
    text += "\n";
  }
  return text;
}

std::string Table::text(const TableStyle& style) const {
  if (style.tabs) return tabbed();
  const Widths widths = fitted(style.columns);
  std::string text;
  for (const auto& row : rows_) text += row_text(row, widths, style.colours);
  return text;
}

}  // namespace runnel::cli
