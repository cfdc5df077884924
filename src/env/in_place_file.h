#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "env/detail/descriptor.h"

namespace runnel::env {

// A small file of a fixed size that is rewritten in place, again and again.
//
// Contract: write() survives the death of the process at once, and that of the machine when the
//           kernel has written it back (some 30 s) or after sync(). The file stays open: one that
//           was moved is still the same.
// Threads:  one.
class InPlaceFile {
 public:
  // Made when missing, for the owner alone.
  static Result<InPlaceFile> open(const std::string& path);

  Result<void> write(std::string_view text);
  Result<void> sync();

 private:
  InPlaceFile(detail::Descriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  detail::Descriptor file_;
  std::string path_;
};

}  // namespace runnel::env
