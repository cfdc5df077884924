#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace runnel::cli {

struct TableStyle {
  bool tabs = false;        // One tab between cells, for programs that read the table.
  std::size_t columns = 0;  // At most so wide; 0: as wide as it is.
  bool colours = false;     // For cells that are a state.
};

// A table with aligned columns.
//
// Contract: cells are shown as printable() writes them. One that is too wide for the screen takes
//           room from the widest columns: their cells go on below, between words, and a word that
//           is wider than its column is cut, which "…" tells. Ids are never cut.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { add(std::move(header)); }
  void add(std::vector<std::string> row);
  std::string text(const TableStyle& style) const;

 private:
  using Widths = std::vector<std::size_t>;

  Widths natural_widths() const;
  Widths floors(std::size_t first, std::size_t word_max) const;
  Widths fitted(std::size_t columns) const;
  std::string tabbed() const;

  std::vector<std::vector<std::string>> rows_;
};

}  // namespace runnel::cli
