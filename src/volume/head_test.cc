#include "volume/head.h"

#include <gtest/gtest.h>

#include "volume/condemned.h"
#include "volume/manifest.h"

namespace runnel::volume {
namespace {

Manifest manifest() {
  Manifest made;
  made.uuid = "0123456789abcdef0123456789abcdef";
  made.parent = "00112233445566ff";
  made.parent_key = manifest_key(made.parent, "0123456789abcdef");
  made.time = Time::from_millis(1'764'000'000'000);
  made.message = "a message";
  made.tree = hash::sha256("tree");
  made.version = version_id(made.parent, made.tree);
  PageRef ref;
  ref.bundle = ObjectId::of("bundle", "12345678");
  ref.offset = 8;
  ref.stored = 100;
  ref.length = 200;
  ref.sha256 = hash::sha256("page");
  ref.xxh3 = 0xFEDCBA9876543210;
  made.names = TreeRoot{ref, 2};
  made.inodes = TreeRoot{ref, 1};
  made.next_inode = 77;
  made.totals = {.files = 70, .folders = 5, .links = 1, .bytes = 1'000, .packed = 900};
  return made;
}

Head head() {
  Head made;
  made.uuid = "0123456789abcdef0123456789abcdef";
  made.nonce = "0011223344556677";
  made.generation = 3;
  made.manifest = encode_manifest(manifest());
  made.manifest_sha256 = hash::hex(hash::sha256(made.manifest));
  const std::string first(16, 'a');
  const std::string second(16, 'b');
  const VersionPlace earlier{first, manifest_key(first, "0000000000000001"), 2};
  made.recent = {{second, manifest_key(second, "0000000000000001"), 3}, earlier};
  made.tags = {{"best", earlier}};
  return made;
}

TEST(Manifest, IsReadAsItWasWritten) {
  const Manifest made = manifest();
  EXPECT_EQ(MUST(decode_manifest(encode_manifest(made))), made);
}

TEST(Manifest, IsOfTheVersionOfItsTree) {
  Manifest other = manifest();
  other.tree = hash::sha256("another tree");
  const Result<Manifest> read = decode_manifest(encode_manifest(other));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Errc::kCorrupt);
  EXPECT_NE(version_id("", other.tree), version_id("a", other.tree));
}

TEST(Manifest, RefusesWhatIsNone) {
  const std::string good = encode_manifest(manifest());
  for (const std::string& text : {std::string(), std::string("{}"), good.substr(0, 100)}) {
    EXPECT_EQ(decode_manifest(text).error().code, Errc::kCorrupt) << text;
  }
  std::string later = good;
  later.replace(later.find("\"format\":1"), 10, "\"format\":9");
  const Error error = decode_manifest(later).error();
  EXPECT_EQ(error.code, Errc::kUnsupported);
  EXPECT_NE(error.message.find("format 9"), std::string::npos) << error.message;
}

TEST(Head, IsReadAsItWasWritten) {
  EXPECT_EQ(MUST(decode_head(encode_head(head()))), head());
  Head empty;
  empty.uuid = empty.nonce = "0";
  EXPECT_EQ(MUST(decode_head(encode_head(empty))), empty);
  EXPECT_EQ(empty.newest(), nullptr);
}

TEST(Head, FullHeadsFit) {
  Head full = head();
  full.manifest.clear();
  const VersionPlace place{std::string(16, 'f'),
                           manifest_key(std::string(16, 'f'), std::string(16, 'f')), 1'000'000};
  full.recent.assign(Head::kRecentMax, place);
  full.tags.clear();
  const auto longest = [](std::size_t number) {
    const std::string digits = std::to_string(number);
    return std::string(63 - digits.size(), 'a') + digits;
  };
  for (std::size_t tag = 0; tag < Head::kTagsMax; ++tag) full.tags.emplace(longest(tag), place);
  for (std::size_t clone = 0; clone < Head::kClonesMax; ++clone) {
    full.clones.emplace(longest(clone), Clone{place, std::string(16, 'f'), true, true});
  }
  for (std::size_t base = 0; base < Head::kBasesMax; ++base) full.bases.push_back(longest(base));
  full.own_name = longest(0);
  full.promise = std::string(16, 'f');
  full.condemned = condemned_key(std::string(16, 'f'));
  EXPECT_LE(encode_head(full).size(), Head::kBytesMax);
}

TEST(Head, RefusesAVersionThatIsNoId) {
  for (const char* version : {"", "0123456789abcde", "0123456789abcdef,suid", "0123456789ABCDEF"}) {
    for (int where = 0; where < 3; ++where) {
      Head hostile = head();
      VersionPlace place = hostile.recent.front();
      place.version = version;
      if (where == 0) hostile.recent.front() = place;
      if (where == 1) hostile.tags["tag"] = place;
      if (where == 2) hostile.clones["clone"] = {place, "nonce", true, true};
      const Result<Head> decoded = decode_head(encode_head(hostile));
      ASSERT_FALSE(decoded.ok()) << version << " " << where;
      EXPECT_EQ(decoded.error().code, Errc::kCorrupt);
    }
  }
}

TEST(Head, NeedsABuildThatKnowsIt) {
  Head later = head();
  later.min_writer = 2;
  EXPECT_EQ(check_writable(MUST(decode_head(encode_head(later)))).error().code, Errc::kUnsupported);
  later.min_reader = 2;
  EXPECT_EQ(decode_head(encode_head(later)).error().code, Errc::kUnsupported);
  Head featured = head();
  featured.features = {"encryption"};
  const std::string text = encode_head(featured);
  EXPECT_NE(decode_head(text).error().message.find("'encryption'"), std::string::npos);
  const std::string with_more = "{\"cipher\":1," + text.substr(1);
  EXPECT_EQ(decode_head(with_more).error().code, Errc::kUnsupported) << "and not damaged";
  EXPECT_TRUE(check_writable(head()).ok());
}

TEST(Head, RefusesWhatIsNone) {
  for (const char* text : {"", "{}", "[]", "{\"format\":1}"}) {
    EXPECT_EQ(decode_head(text).error().code, Errc::kCorrupt) << text;
  }
}

}  // namespace
}  // namespace runnel::volume
