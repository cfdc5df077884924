#include "store/sqlite/detail/head_file.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "env/files.h"
#include "hash/xxh3.h"

namespace runnel::store::sqlite {
namespace {

constexpr Bytes kTextMax = Bytes::kibi(4);
constexpr std::size_t kDigits = 20;
constexpr std::size_t kHashDigits = 64;
constexpr std::string_view kName = "last durable batch ";

std::string padded(std::uint64_t value) {
  std::string text = std::to_string(value);
  return std::string(kDigits - text.size(), '0') + text;
}

std::uint64_t number(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size() ? value : 0;
}

// The text has one length whatever it says, so that the next one covers it.
std::string text_of(const Head& head) {
  CHECK(head.hash.size() == kHashDigits, "the hash of a batch is one of SHA-256");
  std::string text(kName);
  text += padded(static_cast<std::uint64_t>(head.last.value())) + " of epoch " +
          padded(static_cast<std::uint64_t>(head.epoch.value())) + " with hash " + head.hash;
  return text + " sum " + padded(hash::xxh3(text)) + "\n";
}

// Reads text_of() back by writing it again.
std::optional<Head> parsed(std::string_view text) {
  constexpr std::size_t kEpochAt = kName.size() + kDigits + 10;
  constexpr std::size_t kHashAt = kEpochAt + kDigits + 11;
  if (text.size() < kHashAt + kHashDigits) return std::nullopt;
  Head head;
  head.last = BatchSeq(static_cast<std::int64_t>(number(text.substr(kName.size(), kDigits))));
  head.epoch = Epoch(static_cast<std::int64_t>(number(text.substr(kEpochAt, kDigits))));
  head.hash = text.substr(kHashAt, kHashDigits);
  if (head.last.value() <= 0 || text != text_of(head)) return std::nullopt;
  return head;
}

}  // namespace

std::string head_path(const std::string& path) { return path + "-head"; }

std::optional<Head> noted_head(const std::string& path) {
  const Result<env::FileInfo> info = env::file_info(head_path(path));
  if (!info.ok() || info->kind != env::FileKind::kFile) return std::nullopt;
  const Result<std::string> text = env::read_file(head_path(path), kTextMax);
  return text.ok() ? parsed(*text) : std::nullopt;
}

// What is there may be garbled, and longer than what is written.
Result<HeadFile> HeadFile::open(const std::string& path, const Head& head) {
  if (!noted_head(path)) TRY(env::remove_file(head_path(path)));
  HeadFile file(TRY(env::InPlaceFile::open(head_path(path))));
  file.note(head);
  file.sync();
  return file;
}

void HeadFile::note(const Head& head) {
  if (head.last.value() > 0) (void)file_.write(text_of(head));
}

void HeadFile::sync() { (void)file_.sync(); }

Result<void> check_reaches(Tables& tables, const Head& base, const Head& head, const Head& noted) {
  const std::string seq = name_of(noted.last);
  if (noted.last > head.last) {
    const std::string end = head.last == BatchSeq() ? "is empty" : "ends at " + name_of(head.last);
    return Error(Errc::kCorrupt, "the event log " + end + ", and " + seq +
                                     " was durable: its end is lost, or an older copy of it was "
                                     "put back")
        .with_value(std::to_string(noted.last.value()));
  }
  if (noted.last < base.last) return {};
  std::string hash = base.hash;
  if (noted.last > base.last) {
    const std::optional<Batch> batch = TRY(tables.batch(noted.last));
    hash = batch ? batch->hash : "";
  }
  if (hash == noted.hash) return {};
  return Error(Errc::kCorrupt, seq +
                                   " of the event log is not the one that was durable: another "
                                   "log was put in its place")
      .with_value(std::to_string(noted.last.value()));
}

}  // namespace runnel::store::sqlite
