#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace runnel::extract {

// Makes lines of a terminal's output that comes in pieces.
//
// Contract: a line ends at \n, or at \r, with which a progress bar writes over itself; blank lines
//           are dropped, and so are colours and other commands to the terminal. Of a line longer
//           than kLineBytesMax its beginning counts. How the output was cut changes nothing.
// Threads:  one at a time.
class LineSplitter {
 public:
  static constexpr std::size_t kLineBytesMax = std::size_t{16} << 10;
  using Use = std::function<void(std::string_view line)>;

  void add(std::string_view bytes, const Use& use);
  // The last line may lack its end.
  void end(const Use& use);
  // The bytes that come next begin within a line, which is dropped.
  void skip_line();

 private:
  void keep(std::string_view part);
  void finish_line(const Use& use);

  std::string line_;
  bool skipping_ = false;
};

}  // namespace runnel::extract
