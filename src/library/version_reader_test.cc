#include "library/version_reader.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "env/files.h"
#include "library/testing/read_volume.h"

namespace runnel::library {
namespace {

using testing::noise;
using testing::ReadVolume;
using testing::StoredVolume;
using Details = VersionReader::Details;

class VersionReaderTest : public ::testing::Test {
 protected:
  VersionReader& open() {
    stored_.put();
    read_.emplace(stored_);
    return read_->reader();
  }
  template <typename T>
  T run(Async<T> work) {
    return read_->run(std::move(work));
  }
  static std::string bytes_of(const VersionReader::Pieces& pieces) {
    std::string bytes;
    for (const volume::HeldBytes& piece : pieces) bytes += piece.bytes;
    return bytes;
  }

  StoredVolume stored_;
  std::optional<ReadVolume> read_;
};

TEST_F(VersionReaderTest, AListGoesOnAfterAnyName) {
  for (const char* name : {"a", "b", "c", "c0", "d"}) stored_.write(std::string("in/") + name, "");
  VersionReader& reader = open();
  const auto names = [&](const std::string& after, std::size_t max) {
    std::string all;
    for (const auto& each : run(reader.list("in", after, max, Details::kInodeAndKind)).entries) {
      all += each.name + " ";
    }
    return all;
  };
  EXPECT_EQ(names("", 100), "a b c c0 d ");
  EXPECT_EQ(names("", 2), "a b ");
  EXPECT_EQ(names("b", 2), "c c0 ");
  EXPECT_EQ(names("bb", 9), "c c0 d ") << "no entry has this name";
  EXPECT_EQ(names("d", 9), "");
  EXPECT_EQ(names("", 0), "");
}

TEST_F(VersionReaderTest, DetailsAreGivenWhereTheyAreAskedFor) {
  stored_.write("in/file", "123");
  stored_.link("file", "in/link");
  VersionReader& reader = open();
  const auto plain = run(reader.list("in", "", 9, Details::kInodeAndKind)).entries;
  ASSERT_EQ(plain.size(), 2U);
  EXPECT_FALSE(plain[0].node.has_value());
  EXPECT_EQ(plain[1].what.kind, volume::NodeKind::kLink);
  const auto all = run(reader.list("in", "", 9, Details::kAll)).entries;
  EXPECT_EQ(all[0].node.value().size, 3U);
  EXPECT_EQ(all[1].node.value().target, "file");
}

TEST_F(VersionReaderTest, PartsOfFilesAreWhatWasAskedForUpToTheEnd) {
  const std::string whole = noise(3'000'000, 5);
  stored_.write("long", whole);
  VersionReader& reader = open();
  const volume::Inode file = run(reader.find("long", LastLink::kFollow)).found.inode;
  EXPECT_EQ(bytes_of(run(reader.read(file, 0, whole.size()))), whole);
  EXPECT_EQ(bytes_of(run(reader.read(file, 2'999'990, 100))), whole.substr(2'999'990));
  EXPECT_EQ(bytes_of(run(reader.read(file, 1'000'000, 7))), whole.substr(1'000'000, 7));
  EXPECT_EQ(bytes_of(run(reader.read(file, 3'000'000, 7))), "");
  EXPECT_EQ(bytes_of(run(reader.read(file, 5, ~std::uint64_t{0}))), whole.substr(5));
}

TEST_F(VersionReaderTest, LoadsAFileThatIsNotTooLong) {
  stored_.write("in/file", "123");
  VersionReader& reader = open();
  EXPECT_EQ(bytes_of(run(reader.load("in/file", 3)).pieces), "123");
  const VersionReader::SmallFile longer = run(reader.load("in/file", 2));
  EXPECT_TRUE(longer.pieces.empty());
  EXPECT_EQ(longer.end.found.node.size, 3U);
}

TEST_F(VersionReaderTest, RefusesWhatIsOfAnotherKind) {
  stored_.write("in/file", "123");
  VersionReader& reader = open();
  EXPECT_EQ(run(reader.load("in", 9)).end.refusal, Refusal::kIsAFolder);
  EXPECT_EQ(run(reader.load("none", 9)).end.refusal, Refusal::kNoSuchPath);
  EXPECT_EQ(run(reader.list("in/file", "", 9, Details::kAll)).refusal, Refusal::kNotAFolder);
  EXPECT_EQ(run(reader.list("none", "", 9, Details::kAll)).refusal, Refusal::kNoSuchPath);
}

// Else who asks would take a file for one that is not there.
TEST_F(VersionReaderTest, AnObjectThatIsMissingIsDamage) {
  stored_.write("file", noise(3'000, 1));
  VersionReader& reader = open();
  for (const std::string& name : stored_.objects("p")) {
    MUST(env::remove_file(stored_.path_of("p", name)));
  }
  const auto part = stored_.loop().block_on(reader.load("file", 3'000));
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().code, Errc::kCorrupt);
  EXPECT_FALSE(part.error().message.empty());
}

}  // namespace
}  // namespace runnel::library
