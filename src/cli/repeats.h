#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "json/value.h"

namespace runnel::cli {

// Which lines of a stream of output were handed out already when it broke between two cursors.
//
// Contract: a piece of one rank's output is many lines, and only the last carries a cursor. After a
//           break the stream begins again behind the last cursor, with the same lines of each rank
//           in the same order; other ranks' lines may come in between.
class Repeats {
 public:
  // Whether this line was told before the last break. To be asked once for each, in their order.
  bool told_before(const json::Value& line, bool has_cursor);
  void broke();

 private:
  struct Source {  // Lines since the source's last cursor:
    std::int64_t told = 0;
    std::int64_t read = 0;  // by this connection.
  };
  std::map<std::string, Source> sources_;
};

}  // namespace runnel::cli
