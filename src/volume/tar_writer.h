#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "volume/node.h"

namespace runnel::volume {

// Writes a tar in the pax format, which keeps names of any bytes, times to the nanosecond and files
// of any size.
//
// Contract: of a file begin_file() comes first, then all its bytes. Without finish() it is cut, and
//           readers say so.
// Threads:  any, one at a time; blocks as the output does.
class TarWriter {
 public:
  using Output = std::function<Result<void>(std::string_view)>;

  static Result<std::unique_ptr<TarWriter>> open(Output output);
  ~TarWriter();
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;

  // A folder or link, or a file whose bytes come next.
  Result<void> begin(const std::string& path, const Node& node);
  Result<void> append(std::string_view bytes);
  Result<void> finish();

 private:
  struct Impl;
  explicit TarWriter(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace runnel::volume
