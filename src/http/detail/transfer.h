#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "http/detail/libcurl.h"
#include "http/outward_client.h"

namespace runnel::http::detail {

// One request of an OutwardClient on its way through libcurl.
//
// Threads: made and ended on the loop, in between the transferring thread's alone.
class Transfer {
 public:
  Transfer(OutwardRequest request, const OutwardLimits& limits);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  CURL* handle() { return handle_; }
  static Transfer& of(CURL* handle);

  // What came of it.
  void end(CURLcode code);
  void cancel();
  Result<Response> take_result() { return *std::move(result_); }

 private:
  void set_method();
  void set_headers();
  void set_signer();
  void set_limits(const OutwardLimits& limits);
  Error failure(CURLcode code) const;
  bool success() const;

  static std::size_t take_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t take_body(char* data, std::size_t size, std::size_t count, void* self);
  std::size_t keep(const char* data, std::size_t size);

  struct ListFree {
    void operator()(curl_slist* list) const { libcurl().slist_free_all(list); }
  };

  OutwardRequest request_;
  CURL* handle_;
  std::unique_ptr<curl_slist, ListFree> headers_;
  std::array<char, CURL_ERROR_SIZE> message_{};
  Response response_;
  std::size_t received_ = 0;  // Bytes of the body.
  bool too_large_ = false;
  std::optional<Result<Response>> result_;
};

}  // namespace runnel::http::detail
