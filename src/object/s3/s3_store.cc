#include "object/s3/s3_store.h"

#include <utility>

#include "base/check.h"
#include "hash/sha256.h"
#include "object/refusals.h"

namespace runnel::object {
namespace {

constexpr std::string_view kPayloadHeader = "x-amz-content-sha256";
constexpr std::int64_t kAnswerMax = 16 << 20;  // Of a list, or an error.

// With an endpoint of its own a store is asked by path; AWS by the bucket's host, where its name
// is one part of a host.
std::string bucket_url(const StoreUrl& url, const AwsSettings& settings) {
  std::string endpoint = settings.endpoint;
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (!endpoint.empty()) return endpoint + "/" + url.bucket + "/";
  const std::string host = "s3." + settings.region + ".amazonaws.com/";
  if (url.bucket.find('.') != std::string::npos) return "https://" + host + url.bucket + "/";
  return "https://" + url.bucket + "." + host;
}

// A key as a path: every part encoded, the slashes left.
std::string encoded_path(const std::string& key) {
  std::string path;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    path += http::percent_encode(key.substr(begin, end - begin));
    if (end < key.size()) path += '/';
    begin = end + 1;
  }
  return path;
}

bool are_over(const http::Response& answer) {
  return (answer.status == 400 || answer.status == 403) &&
         answer.body.find("<Code>ExpiredToken</Code>") != std::string::npos;
}

}  // namespace

S3Store::S3Store(http::OutwardClient& client, CredentialKeeper& keys, const StoreUrl& url,
                 const AwsSettings& settings, KeyRule rule)
    : client_(client),
      keys_(keys),
      rule_(rule),
      region_(settings.region),
      prefix_(url.prefix.empty() ? "" : url.prefix + "/"),
      bucket_url_(bucket_url(url, settings)),
      name_(url.to_string()) {
  CHECK(url.scheme == StoreUrl::Scheme::kS3, "another store's URL");
}

std::string S3Store::url_of(const std::string& key) const {
  return bucket_url_ + encoded_path(prefix_ + key);
}

Async<http::Response> S3Store::ask(http::OutwardRequest request, async::StopToken stop) {
  Credentials keys = CO_TRY(co_await keys_.keys(stop));
  http::Response answer = CO_TRY(co_await ask_once(request, keys, stop));
  if (!are_over(answer)) co_return answer;
  keys_.refused(keys);
  Credentials fresh = CO_TRY(co_await keys_.keys(stop));
  co_return co_await ask_once(std::move(request), std::move(fresh), std::move(stop));
}

Async<http::Response> S3Store::ask_once(http::OutwardRequest request, Credentials keys,
                                        async::StopToken stop) {
  if (!request.headers.has(kPayloadHeader)) {
    request.headers.add(std::string(kPayloadHeader), hash::sha256_hex(""));
  }
  if (!keys.token.empty()) request.headers.add("x-amz-security-token", keys.token);
  request.signer = http::AwsSigner{region_, "s3", keys.key_id, keys.secret};
  co_return co_await client_.request(std::move(request), std::move(stop));
}

Async<Object> S3Store::get(std::string key, std::int64_t limit, async::StopToken stop) {
  CO_TRY(check_key(key, rule_));
  http::OutwardRequest request;
  request.url = url_of(key);
  request.body_max = Bytes::count(std::max(limit, kAnswerMax));
  http::Response answer = CO_TRY(co_await ask(std::move(request), std::move(stop)));
  if (!answer.success()) co_return s3_error(answer, asked(key));
  if (std::ssize(answer.body) > limit) co_return is_larger(name_, key, limit);
  co_return Object{std::move(answer.body), std::string(answer.headers.find("ETag").value_or(""))};
}

Async<void> S3Store::read(std::string key, std::string stamp, std::int64_t offset,
                          std::span<char> into, async::StopToken stop) {
  CHECK(!into.empty() && offset >= 0, "a read of nothing, or from before the object");
  CO_TRY(check_key(key, rule_));
  const std::int64_t end = offset + std::ssize(into);
  http::OutwardRequest request;
  request.url = url_of(key);
  request.headers.add("Range", "bytes=" + std::to_string(offset) + "-" + std::to_string(end - 1));
  if (!stamp.empty()) request.headers.add("If-Match", '"' + stamp + '"');
  request.into = into;
  request.body_max = Bytes::count(kAnswerMax);
  Result<http::Response> answer = co_await ask(std::move(request), std::move(stop));
  if (!answer.ok() && answer.error().code == Errc::kCorrupt) co_return is_shorter(name_, key, end);
  if (!answer.ok()) co_return answer.error();
  if (answer->status == 416) co_return is_shorter(name_, key, end);
  if (answer->status == 412) co_return was_replaced(name_, key);
  if (!answer->success()) co_return s3_error(*answer, asked(key));
  // A store may not know the condition.
  const std::string_view etag = answer->headers.find("ETag").value_or("");
  if (!stamp.empty() && without_quotes(etag) != stamp) co_return was_replaced(name_, key);
  co_return {};
}

Async<std::string> S3Store::put(std::string key, Body bytes, Condition condition,
                                async::StopToken stop) {
  CO_TRY(check_key(key, rule_));
  http::OutwardRequest request;
  request.method = http::Method::kPut;
  request.url = url_of(key);
  request.headers.add(std::string(kPayloadHeader), hash::sha256_hex(*bytes));
  if (condition.kind == Condition::Kind::kAbsent) request.headers.add("If-None-Match", "*");
  if (condition.kind == Condition::Kind::kMatches) request.headers.add("If-Match", condition.etag);
  request.body = std::move(bytes);
  const http::Response answer = CO_TRY(co_await ask(std::move(request), std::move(stop)));
  if (answer.status == 412 && condition.kind == Condition::Kind::kAbsent) {
    co_return exists_already(name_, key);
  }
  if (!answer.success()) {
    co_return s3_error(answer, asked(key, condition.kind != Condition::Kind::kNone));
  }
  co_return std::string(answer.headers.find("ETag").value_or(""));
}

Async<void> S3Store::remove(std::string key, async::StopToken stop) {
  CO_TRY(check_key(key, rule_));
  http::OutwardRequest request;
  request.method = http::Method::kDelete;
  request.url = url_of(key);
  const http::Response answer = CO_TRY(co_await ask(std::move(request), std::move(stop)));
  if (answer.success()) co_return {};
  const Error error = s3_error(answer, asked(key));
  if (error.code == Errc::kNotFound) co_return {};
  co_return error;
}

// The names of a query stand in order, as they are signed.
Async<ListPage> S3Store::list(std::string prefix, std::string after, async::StopToken stop) {
  http::OutwardRequest request;
  request.url = bucket_url_ + "?list-type=2&max-keys=" + std::to_string(kListPageMax);
  request.url += "&prefix=" + http::percent_encode(prefix_ + prefix);
  if (!after.empty()) request.url += "&start-after=" + http::percent_encode(prefix_ + after);
  request.body_max = Bytes::count(kAnswerMax);
  const http::Response answer = CO_TRY(co_await ask(std::move(request), std::move(stop)));
  if (!answer.success()) co_return s3_error(answer, asked(""));
  co_return parse_list(answer.body, prefix_, after);
}

}  // namespace runnel::object
