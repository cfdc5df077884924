#include "http/detail/transfer.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace runnel::http::detail {
namespace {

constexpr long kReceiveBuffer = 512L << 10;
constexpr long kSendBuffer = 512L << 10;

template <typename T>
void set(CURL* handle, CURLoption option, T value) {
  const CURLcode code = libcurl().easy_setopt(handle, option, value);
  CHECK(code == CURLE_OK, "libcurl does not know an option that it is asked for");
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_timeout(CURLcode code) { return code == CURLE_OPERATION_TIMEDOUT; }

bool is_wrong_url(CURLcode code) {
  return code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
}

}  // namespace

Transfer::Transfer(OutwardRequest request, const OutwardLimits& limits)
    : request_(std::move(request)), handle_(libcurl().easy_init()) {
  CHECK(handle_ != nullptr, "libcurl has no memory for a request");
  set(handle_, CURLOPT_PRIVATE, static_cast<void*>(this));
  set(handle_, CURLOPT_URL, request_.url.c_str());
  set(handle_, CURLOPT_PATH_AS_IS, 1L);  // As it was signed: "/../" is a part of a key.
  set(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
  set(handle_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(handle_, CURLOPT_NOSIGNAL, 1L);
  set(handle_, CURLOPT_ERRORBUFFER, message_.data());
  set(handle_, CURLOPT_HEADERFUNCTION, &Transfer::take_header);
  set(handle_, CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(handle_, CURLOPT_WRITEFUNCTION, &Transfer::take_body);
  set(handle_, CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(handle_, CURLOPT_BUFFERSIZE, kReceiveBuffer);
  set(handle_, CURLOPT_UPLOAD_BUFFERSIZE, kSendBuffer);
  set_method();
  set_headers();
  set_signer();
  set_limits(limits);
}

Transfer::~Transfer() { libcurl().easy_cleanup(handle_); }

Transfer& Transfer::of(CURL* handle) {
  void* self = nullptr;
  libcurl().easy_getinfo(handle, CURLINFO_PRIVATE, &self);
  CHECK(self != nullptr, "a handle of libcurl that is no request of ours");
  return *static_cast<Transfer*>(self);
}

void Transfer::set_method() {
  if (request_.method == Method::kHead) set(handle_, CURLOPT_NOBODY, 1L);
  const bool sends = request_.method == Method::kPut || request_.method == Method::kPost;
  if (sends) {
    const bool has_body = request_.body != nullptr;
    set(handle_, CURLOPT_POSTFIELDSIZE_LARGE,
        static_cast<curl_off_t>(has_body ? request_.body->size() : 0));
    set(handle_, CURLOPT_POSTFIELDS, has_body ? request_.body->data() : "");
  }
  if (request_.method != Method::kGet && request_.method != Method::kHead) {
    set(handle_, CURLOPT_CUSTOMREQUEST, std::string(to_string(request_.method)).c_str());
  }
}

// Nothing is asked for before it is sent, and a body has no type that is not given.
void Transfer::set_headers() {
  curl_slist* list = libcurl().slist_append(nullptr, "Expect:");
  if (!request_.headers.has("Content-Type")) list = libcurl().slist_append(list, "Content-Type:");
  for (const auto& [name, value] : request_.headers.fields()) {
    list = libcurl().slist_append(list, (name + ": " + value).c_str());
  }
  headers_.reset(list);
  set(handle_, CURLOPT_HTTPHEADER, headers_.get());
}

void Transfer::set_signer() {
  if (!request_.signer) return;
  const AwsSigner& signer = *request_.signer;
  set(handle_, CURLOPT_AWS_SIGV4, ("aws:amz:" + signer.region + ":" + signer.service).c_str());
  set(handle_, CURLOPT_USERNAME, signer.key_id.c_str());
  set(handle_, CURLOPT_PASSWORD, signer.secret.c_str());
}

void Transfer::set_limits(const OutwardLimits& limits) {
  if (!limits.ca_bundle.empty()) set(handle_, CURLOPT_CAINFO, limits.ca_bundle.c_str());
  set(handle_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect_max.millis()));
  set(handle_, CURLOPT_TIMEOUT_MS, static_cast<long>(limits.total_max.millis()));
  set(handle_, CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(handle_, CURLOPT_LOW_SPEED_TIME,
      std::max(1L, static_cast<long>(limits.silence_max.millis() / 1'000)));
}

bool Transfer::success() const {
  long status = 0;
  libcurl().easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
  return status >= 200 && status < 300;
}

// A status line begins a new head: of an answer that only said "continue" nothing stays.
std::size_t Transfer::take_header(char* data, std::size_t size, std::size_t count, void* self) {
  Transfer& transfer = *static_cast<Transfer*>(self);
  const std::string_view line(data, size * count);
  const std::size_t colon = line.find(':');
  if (line.starts_with("HTTP/")) {
    transfer.response_.headers = {};
  } else if (colon != std::string_view::npos) {
    transfer.response_.headers.add(std::string(line.substr(0, colon)),
                                   std::string(trimmed(line.substr(colon + 1))));
  }
  return line.size();
}

std::size_t Transfer::take_body(char* data, std::size_t size, std::size_t count, void* self) {
  return static_cast<Transfer*>(self)->keep(data, size * count);
}

// Taking fewer bytes than there are ends the transfer.
std::size_t Transfer::keep(const char* data, std::size_t size) {
  const bool into = !request_.into.empty() && success();
  const std::size_t room =
      into ? request_.into.size() : static_cast<std::size_t>(request_.body_max.count());
  if (received_ + size > room) {
    too_large_ = true;
    return 0;
  }
  if (into) {
    std::memcpy(request_.into.data() + received_, data, size);
  } else {
    response_.body.append(data, size);
  }
  received_ += size;
  return size;
}

Error Transfer::failure(CURLcode code) const {
  const std::string why = message_[0] != '\0' ? message_.data() : libcurl().easy_strerror(code);
  const std::string what = std::string(to_string(request_.method)) + " " + request_.url + ": ";
  if (too_large_)
    return Error(Errc::kInvalid, what + "the answer is larger than what was asked for");
  if (is_wrong_url(code)) return Error(Errc::kInvalid, what + why);
  return Error(is_timeout(code) ? Errc::kTimeout : Errc::kUnavailable, what + why);
}

void Transfer::end(CURLcode code) {
  if (code != CURLE_OK) {
    result_.emplace(failure(code));
    return;
  }
  if (!request_.into.empty() && success() && received_ != request_.into.size()) {
    result_.emplace(Error(Errc::kCorrupt, request_.url + ": the answer has " +
                                              std::to_string(received_) + " bytes of " +
                                              std::to_string(request_.into.size())));
    return;
  }
  long status = 0;
  libcurl().easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
  response_.status = static_cast<int>(status);
  result_.emplace(std::move(response_));
}

void Transfer::cancel() { result_.emplace(async::cancelled_error()); }

}  // namespace runnel::http::detail
