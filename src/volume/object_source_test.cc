#include "volume/object_source.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "env/clock.h"
#include "object/forwarding_store.h"
#include "volume/get.h"
#include "volume/object_sink.h"
#include "volume/testing/memory_volume.h"

namespace runnel::volume {
namespace {

using testing::Contents;
using testing::MemoryVolume;

class ObjectsTest : public ::testing::Test {
 protected:
  void keep(const std::string& key, std::string bytes) {
    store_.objects()[key] = {std::move(bytes), "1"};
  }
  Result<PutResult> import(object::ObjectStore& store) {
    auto source = std::make_unique<ObjectSource>(
        *data_.loop(), store, Time::from_millis(1'700'000'000'000), async::StopToken());
    return data_.try_run(put_from(*data_.loop(), data_.volume(), std::move(source), {}, {}));
  }

  MemoryVolume data_;
  object::MemoryStore store_{"bucket", object::KeyRule::kBucket};
};

TEST_F(ObjectsTest, BecomeFilesOfTheirNames) {
  const std::string long_one = testing::noise(20'000'000, 1);
  keep("a/b", "1");
  keep("a/long", long_one);
  keep("a/longer", testing::noise(40'000'000, 2));
  keep("empty", "");
  keep("folder/", "");
  keep("z \xc3\xa9\n", "2");
  MUST(import(store_));
  EXPECT_EQ(data_.contents(), (Contents{{"a/b", "1"},
                                        {"a/long", long_one},
                                        {"a/longer", testing::noise(40'000'000, 2)},
                                        {"empty", ""},
                                        {"folder/", ""},
                                        {"z \xc3\xa9\n", "2"}}));
  EXPECT_EQ(data_.node("a/b").changed, 1'700'000'000);
  EXPECT_EQ(data_.volume().head().recent.size(), 1U);
}

TEST_F(ObjectsTest, ManyPagesOfThemAreListed) {
  for (int number = 0; number < 2'500; ++number) {
    keep("f/" + std::to_string(number), std::to_string(number));
  }
  EXPECT_EQ(MUST(import(store_)).done.files, 2'500);
  EXPECT_EQ(data_.content("f/2499"), "2499");
}

// How many reads are under way at a time.
class CountingStore final : public object::ForwardingStore {
 public:
  CountingStore(object::ObjectStore& store, async::EventLoop& loop)
      : ForwardingStore(store), loop_(loop) {}

  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override {
    most = std::max(most, ++now_);
    CO_TRY(co_await loop_.sleep(Duration::millis(1), stop));
    const Result<void> done =
        co_await ForwardingStore::read(std::move(key), std::move(stamp), offset, into, stop);
    --now_;
    co_return done;
  }

  std::size_t most = 0;

 private:
  async::EventLoop& loop_;
  std::size_t now_ = 0;
};

TEST_F(ObjectsTest, AreReadWithManyRequestsUnderWay) {
  for (int number = 0; number < 100; ++number) keep("f" + std::to_string(number), "x");
  CountingStore counting(store_, *data_.loop());
  MUST(import(counting));
  EXPECT_EQ(counting.most, ObjectSource::kReadsAtOnce);
}

TEST_F(ObjectsTest, APrefixWithoutObjectsIsRefused) {
  EXPECT_EQ(import(store_).error().code, Errc::kNotFound);
  EXPECT_TRUE(data_.volume().head().recent.empty());
}

TEST_F(ObjectsTest, AKeyThatIsNoPathIsNamed) {
  const std::string long_part = "a/" + std::string(256, 'x');
  for (const char* key : {"a//b", "a/../b", "/a", "./a", long_part.c_str()}) {
    store_.objects().clear();
    keep(key, "1");
    const Error error = import(store_).error();
    EXPECT_EQ(error.code, Errc::kInvalid) << key;
    EXPECT_NE(error.message.find(key), std::string::npos);
  }
  store_.objects().clear();
  keep("a", "1");
  keep("a/b", "2");
  EXPECT_EQ(import(store_).error().code, Errc::kConflict) << "a file and a folder of one name";
  EXPECT_TRUE(data_.volume().head().recent.empty());
}

TEST_F(ObjectsTest, AnExportGivesThemBack) {
  const Contents files{{"a/b", "1"}, {"a/long", testing::noise(70'000'000, 1)}, {"e", ""}};
  data_.put(files);
  Edit root = Edit::folder();
  root.entries["link"].node.kind = NodeKind::kLink;
  root.entries["link"].node.target = "a/b";
  data_.run(data_.volume().publish(root, {}, 0, ""));
  ObjectSink sink(*data_.loop(), store_, "", {});
  data_.run(get_into(*data_.loop(), data_.volume(), "latest", "", sink, {}, {}));
  Contents got;
  for (const auto& [key, object] : store_.objects()) got[key] = object.bytes;
  EXPECT_TRUE(got == files);
  EXPECT_EQ(sink.left_out(), std::vector<std::string>{"link"});
  ObjectSink single(*data_.loop(), store_, "b", {});
  data_.run(get_into(*data_.loop(), data_.volume(), "latest", "a/b", single, {}, {}));
  EXPECT_EQ(store_.objects().at("b").bytes, "1");
}

TEST_F(ObjectsTest, AnExportOfWhatIsTooLargeNamesIt) {
  ObjectSink sink(*data_.loop(), store_, "", {});
  Node node;
  node.size = ObjectSink::kObjectBytesMax + 1;
  const Error error = data_.try_run(sink.begin("huge", node)).error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_NE(error.hint.find(".tar"), std::string::npos);
}

}  // namespace
}  // namespace runnel::volume
