#include "object/store_url.h"

#include <algorithm>
#include <filesystem>

#include "object/key.h"

namespace runnel::object {
namespace {

constexpr std::string_view kForms = "write file:///FOLDER or s3://BUCKET/PREFIX";

Error bad_url(std::string_view text, const std::string& why) {
  return Error(Errc::kInvalid, "the place of a volume " + why)
      .with_value(std::string(text))
      .with_hint(std::string(kForms));
}

bool is_bucket_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return name.size() >= 3 && name.size() <= 63 && std::all_of(name.begin(), name.end(), allowed);
}

Result<StoreUrl> file_url(std::string_view text, std::string_view rest) {
  if (!rest.starts_with('/')) return bad_url(text, "needs an absolute path after file://");
  StoreUrl url;
  url.path = std::filesystem::path(rest).lexically_normal().string();
  while (url.path.size() > 1 && url.path.ends_with('/')) url.path.pop_back();
  if (url.path == "/") return bad_url(text, "may not be the root folder");
  return url;
}

Result<StoreUrl> s3_url(std::string_view text, std::string_view rest) {
  StoreUrl url{.scheme = StoreUrl::Scheme::kS3, .path = {}, .bucket = {}, .prefix = {}};
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  url.bucket = rest.substr(0, slash);
  if (!is_bucket_name(url.bucket)) {
    return bad_url(text, "needs a bucket of 3 to 63 letters a-z, digits, '-' and '.'");
  }
  url.prefix = rest.substr(std::min(slash + 1, rest.size()));
  while (url.prefix.ends_with('/')) url.prefix.pop_back();
  if (!url.prefix.empty()) TRY(check_key(url.prefix));
  return url;
}

}  // namespace

std::string StoreUrl::to_string() const {
  if (scheme == Scheme::kFile) return "file://" + path;
  return "s3://" + bucket + (prefix.empty() ? "" : "/" + prefix);
}

Result<StoreUrl> parse_store_url(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return bad_url(text, "is a URL");
  const std::string_view scheme = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 3);
  if (scheme == "file") return file_url(text, rest);
  if (scheme == "s3") return s3_url(text, rest);
  return Error(Errc::kUnsupported,
               "stores of the scheme " + std::string(scheme) + ":// are not in this version")
      .with_value(std::string(text))
      .with_hint(std::string(kForms));
}

}  // namespace runnel::object
