#include "object/s3/s3_answer.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <pugixml.hpp>

#include "object/refusals.h"
#include "object/stamp.h"

namespace runnel::object {
namespace {

struct Rule {
  std::string_view code;
  Errc kind;
  std::string_view sentence;
  std::string_view hint;
};

// What S3 and the stores that speak like it answer. What is not here goes by its status.
constexpr std::array kRules = {
    Rule{"AccessDenied", Errc::kDenied, "these keys may not do this",
         "give them the right to read, write, list and delete below the prefix"},
    Rule{"InvalidAccessKeyId", Errc::kDenied, "the access key id is not known there",
         "check AWS_ACCESS_KEY_ID, AWS_PROFILE and the endpoint"},
    Rule{"XAdminUserNotFound", Errc::kDenied, "the access key id is not known there",
         "check AWS_ACCESS_KEY_ID, AWS_PROFILE and the endpoint"},
    Rule{"SignatureDoesNotMatch", Errc::kDenied, "the secret access key is not the right one",
         "check AWS_SECRET_ACCESS_KEY and the region"},
    Rule{"ExpiredToken", Errc::kDenied, "the session of these keys is over",
         "get new keys, or name a credential_process, which is asked again"},
    Rule{"InvalidToken", Errc::kDenied, "the session token is not known there",
         "check AWS_SESSION_TOKEN: it belongs to one pair of keys"},
    Rule{"RequestTimeTooSkewed", Errc::kDenied,
         "the clocks of this machine and of the store differ", "set this machine's clock"},
    Rule{"NoSuchBucket", Errc::kInvalid, "there is no such bucket",
         "make it first; Runnel makes no buckets"},
    Rule{"PermanentRedirect", Errc::kInvalid, "the bucket is in another region",
         "set AWS_REGION to the bucket's region"},
    Rule{"AuthorizationHeaderMalformed", Errc::kInvalid, "the bucket is in another region",
         "set AWS_REGION to the bucket's region"},
    Rule{"InvalidObjectState", Errc::kDenied, "the object is in an archive tier",
         "restore it, or keep volumes out of rules that archive"},
    Rule{"ObjectLocked", Errc::kDenied, "the object is locked against deletion",
         "keep volumes in a bucket without Object Lock"},
    Rule{"EntityTooLarge", Errc::kInvalid, "the object is larger than the store takes", ""},
    Rule{"QuotaExceeded", Errc::kFull, "the quota of the account is reached", "make room"},
    Rule{"SlowDown", Errc::kFull, "the store asks for fewer requests", ""},
    Rule{"ServiceUnavailable", Errc::kFull, "the store asks for fewer requests", ""},
    Rule{"TooManyRequests", Errc::kFull, "the store asks for fewer requests", ""},
    Rule{"ConditionalRequestConflict", Errc::kConflict, "another write of it was under way", ""},
    Rule{"OperationAborted", Errc::kConflict, "another write of it was under way", ""},
    Rule{"BadDigest", Errc::kConflict, "the bytes were changed on their way", ""},
    Rule{"XAmzContentSHA256Mismatch", Errc::kConflict, "the bytes were changed on their way", ""},
    Rule{"IncompleteBody", Errc::kConflict, "the bytes did not all arrive", ""},
    Rule{"RequestTimeout", Errc::kUnavailable, "the bytes did not arrive in time", ""},
};

std::string code_in(const std::string& body) {
  pugi::xml_document document;
  if (!document.load_buffer(body.data(), body.size())) return {};
  return document.child("Error").child("Code").child_value();
}

const Rule* rule_of(std::string_view code) {
  const auto* found = std::find_if(kRules.begin(), kRules.end(),
                                   [&](const Rule& rule) { return rule.code == code; });
  return found == kRules.end() ? nullptr : found;
}

Errc kind_of(int status) {
  if (status == 403 || status == 401) return Errc::kDenied;
  if (status == 409) return Errc::kConflict;
  if (status == 429 || status == 503) return Errc::kFull;
  if (status == 501) return Errc::kUnsupported;
  if (status == 408 || status >= 500) return Errc::kUnavailable;
  return Errc::kInvalid;
}

std::string subject(const Asked& asked) {
  return asked.key.empty() ? asked.store : asked.store + "/" + asked.key;
}

// The region that the answer names, or the store's time.
std::string detail_of(const http::Response& answer, std::string_view code) {
  const auto header = [&](const char* name) {
    return std::string(answer.headers.find(name).value_or(std::string_view()));
  };
  if (code == "RequestTimeTooSkewed") return header("Date");
  if (code == "PermanentRedirect" || code == "AuthorizationHeaderMalformed") {
    return header("x-amz-bucket-region");
  }
  return {};
}

}  // namespace

Error s3_error(const http::Response& answer, const Asked& asked) {
  const std::string code = code_in(answer.body);
  if (answer.status == 412) {
    return asked.conditional ? Error(was_replaced(asked.store, asked.key))
                             : Error(Errc::kInvalid, subject(asked) + ": " + code);
  }
  const Rule* rule = rule_of(code);
  const bool only_missing = code.empty() || code == "NoSuchKey";  // HEAD has no body.
  if (answer.status == 404 && only_missing) return no_object(asked.store, asked.key);
  std::string text = subject(asked) + ": ";
  if (rule == nullptr) {
    text += "the store answered " + std::to_string(answer.status);
    if (!code.empty()) text += " " + code;
    return Error(kind_of(answer.status), text).with_value(asked.key);
  }
  // A conditional write that a store breaks off may have been done.
  const bool unknown = asked.conditional && rule->kind == Errc::kFull && answer.status >= 500;
  const std::string detail = detail_of(answer, code);
  text += std::string(rule->sentence) + (detail.empty() ? "" : " (" + detail + ")");
  return Error(unknown ? Errc::kUnavailable : rule->kind, text)
      .with_value(asked.key)
      .with_hint(std::string(rule->hint));
}

std::string_view without_quotes(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);  // A proxy has compressed it.
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag.remove_prefix(1);
    etag.remove_suffix(1);
  }
  return etag;
}

namespace {

// None where it is no ETag: a list may come from anybody.
std::string stamp_of(const pugi::xml_node& entry) {
  const std::string_view etag = without_quotes(entry.child_value("ETag"));
  return is_stamp(etag) ? std::string(etag) : std::string();
}

}  // namespace

Result<ListPage> parse_list(const std::string& body, const std::string& prefix,
                            const std::string& after) {
  const auto wrong = [](const std::string& why) {
    return Error(Errc::kCorrupt, "a list of objects " + why);
  };
  pugi::xml_document document;
  if (!document.load_buffer(body.data(), body.size())) return wrong("is no XML");
  const pugi::xml_node list = document.child("ListBucketResult");
  if (!list) return wrong("has no ListBucketResult");
  ListPage page;
  for (const pugi::xml_node entry : list.children("Contents")) {
    const std::string key = entry.child("Key").child_value();
    if (!key.starts_with(prefix)) return wrong("names the key '" + key + "' outside its prefix");
    page.objects.push_back({key.substr(prefix.size()), entry.child("Size").text().as_llong(-1),
                            stamp_of(entry),
                            parse_rfc3339(entry.child_value("LastModified")).value_or(Time())});
    if (page.objects.back().size < 0) return wrong("tells no size of '" + key + "'");
  }
  const bool truncated = std::string_view(list.child("IsTruncated").child_value()) == "true";
  if (truncated && page.objects.empty()) return wrong("goes on after nothing");
  if (truncated) page.more = page.objects.back().key;
  if (page.more && *page.more <= after) {
    return Error(Errc::kUnsupported, "the store lists the same keys again and again")
        .with_hint("use a store that knows start-after, as S3 does");
  }
  return page;
}

}  // namespace runnel::object
