#include "object/key.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace runnel::object {
namespace {

Error bad_key(std::string_view key, const std::string& why) {
  return Error(Errc::kInvalid, "the key of an object " + why)
      .with_value(std::string(key))
      .with_hint("use letters, digits, '.', '_', '-' and single '/' between them");
}

bool is_allowed(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-' ||
         c == '/';
}

Result<void> check_parts(std::string_view key) {
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    const std::string_view part = key.substr(begin, end - begin);
    if (part.empty()) return bad_key(key, "has an empty part");
    if (part == "." || part == "..")
      return bad_key(key, "has the part '" + std::string(part) + "'");
    begin = end + 1;
  }
  return {};
}

Result<void> check_size(std::string_view key, std::size_t most) {
  if (key.empty()) return bad_key(key, "is empty");
  if (key.size() <= most) return {};
  return bad_key(key.substr(0, 64), "has " + std::to_string(key.size()) + " bytes; the limit is " +
                                        std::to_string(most));
}

}  // namespace

Result<void> check_key(std::string_view key) {
  TRY(check_size(key, kKeyBytesMax));
  if (!std::all_of(key.begin(), key.end(), is_allowed)) {
    return bad_key(key, "has a character that not every store takes");
  }
  TRY(check_parts(key));
  const bool is_own = key.starts_with(".runnel") || key.find("/.runnel") != std::string_view::npos;
  if (is_own) return bad_key(key, "has a part that begins with '.runnel'");
  return {};
}

Result<void> check_key(std::string_view key, KeyRule rule) {
  if (rule == KeyRule::kEveryStore) return check_key(key);
  TRY(check_size(key, kBucketKeyBytesMax));
  return check_parts(key);
}

}  // namespace runnel::object
