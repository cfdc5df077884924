#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "base/check.h"

namespace runnel::http::detail {

// Bytes that were read and not yet parsed, contiguous.
//
// Limits: `capacity` in all; when it is full and the parser wants more, the message is refused.
class InputBuffer {
 public:
  explicit InputBuffer(std::size_t capacity)
      : bytes_(std::make_unique_for_overwrite<char[]>(capacity)), capacity_(capacity) {}

  std::string_view data() const { return {bytes_.get() + begin_, end_ - begin_}; }
  bool full() const { return end_ - begin_ == capacity_; }

  void consume(std::size_t count) {
    CHECK(count <= end_ - begin_, "more was consumed than there is");
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  // Where the next bytes go; empty only when full(). They count after commit().
  std::span<char> room() {
    if (begin_ > 0) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    return {bytes_.get() + end_, capacity_ - end_};
  }

  void commit(std::size_t count) {
    CHECK(count <= capacity_ - end_, "more was read than there was room for");
    end_ += count;
  }

  void clear() { begin_ = end_ = 0; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace runnel::http::detail
