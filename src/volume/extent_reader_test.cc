#include "volume/extent_reader.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "env/clock.h"
#include "object/memory/memory_store.h"
#include "object/metered_store.h"
#include "volume/pack.h"

namespace runnel::volume {
namespace {

constexpr int kChunks = 100;

// A pack of a hundred chunks of 1,000 bytes.
class ExtentReaderTest : public ::testing::Test {
 protected:
  ExtentReaderTest() {
    PackBuilder builder;
    for (int number = 0; number < kChunks; ++number) {
      const std::string bytes = content(number);
      extents_.push_back(builder.add(hash::sha256(bytes), bytes, bytes.size(), Codec::kRaw));
    }
    const std::string pack = builder.finish();
    const ObjectId id = ObjectId::of(pack, "12345678");
    for (Extent& extent : extents_) extent.pack = id;
    key_ = "data/" + pack_key(id);
    memory_.objects()[key_] = {pack, "1"};
  }
  ~ExtentReaderTest() override { MUST(loop_->block_on(reader_.close())); }

  static std::string content(int number) {
    return std::string(999, static_cast<char>('a' + number % 26)) + static_cast<char>(number);
  }
  std::vector<Result<std::string>> read(std::vector<Extent> extents) {
    return MUST(loop_->block_on(reader_.read(std::move(extents))));
  }

  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  object::MemoryStore memory_;
  object::MeteredStore store_{memory_, env::real_clock()};
  ExtentReader reader_{*loop_, {store_, "data/"}, {}};
  std::vector<Extent> extents_;
  std::string key_;
};

TEST_F(ExtentReaderTest, ReadsNeighboursByOneRequest) {
  const auto chunks = read(extents_);
  for (int number = 0; number < kChunks; ++number) EXPECT_EQ(*chunks[number], content(number));
  EXPECT_EQ(store_.meter().requests(), 1);
}

TEST_F(ExtentReaderTest, GivesThemInTheOrderThatIsAskedForWithHoles) {
  Extent hole;
  hole.length = 10;
  const auto chunks = read({extents_[70], hole, extents_[3], extents_[70]});
  EXPECT_EQ(*chunks[0], content(70));
  EXPECT_EQ(*chunks[1], std::string(10, '\0'));
  EXPECT_EQ(*chunks[2], content(3));
  EXPECT_EQ(*chunks[3], content(70));
  EXPECT_TRUE(read({}).empty());
}

TEST_F(ExtentReaderTest, OneThatIsDamagedIsAnErrorOfItsOwn) {
  std::string& pack = memory_.objects()[key_].bytes;
  pack[extents_[7].offset + 3] = '!';
  const auto chunks = read(extents_);
  for (int number = 0; number < kChunks; ++number) {
    ASSERT_EQ(chunks[number].ok(), number != 7) << number;
  }
  EXPECT_EQ(chunks[7].error().code, Errc::kCorrupt);
  EXPECT_NE(chunks[7].error().message.find("at byte"), std::string::npos);
}

TEST_F(ExtentReaderTest, OfAPackThatIsCutTheFirstOnesAreThere) {
  memory_.objects()[key_].bytes.resize(extents_[60].offset + 1);
  const auto chunks = read(extents_);
  for (int number = 0; number < kChunks; ++number) EXPECT_EQ(chunks[number].ok(), number < 60);
}

TEST_F(ExtentReaderTest, OfAPackThatIsNotThereAllAreMissing) {
  memory_.objects().clear();
  for (const auto& chunk : read(extents_)) EXPECT_EQ(chunk.error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace runnel::volume
