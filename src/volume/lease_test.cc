#include "volume/lease.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "env/clock.h"
#include "volume/put.h"
#include "volume/tag.h"
#include "volume/testing/memory_volume.h"
#include "volume/testing/named_processes.h"

namespace runnel::volume {
namespace {

using testing::MemoryVolume;
using testing::NamedProcesses;

class LeaseTest : public ::testing::Test {
 protected:
  // The volume as a process has it that is about to write.
  std::unique_ptr<Volume> writer(std::int64_t pid) {
    processes_.pid = pid;
    VolumeContext context{data_.store(), env::real_clock(), data_.random(), {}};
    VolumeContext named{context.store,  context.clock, context.random, {},
                        context.others, processes_,    context.memory};
    auto volume = std::make_unique<Volume>(data_.run(Volume::open(named, "data")));
    const SessionRecord who = processes_.this_one("mount");
    if (!data_.run(volume->go_on_writing(who))) data_.run(volume->begin_writing(who));
    return volume;
  }
  Result<void> try_take(Volume& volume) {
    return data_.try_run(take_lease(*data_.loop(), env::real_clock(), volume, {}));
  }
  Result<Manifest> try_write(Volume& volume, const std::string& name) {
    data_.run(volume.refresh());
    Edit root = Edit::folder();
    root.entries[name].node.hash = hash::sha256("");
    return data_.try_run(volume.publish(root, {}, 0, ""));
  }
  Lease lease() {
    data_.run(data_.volume().refresh());
    return data_.volume().head().lease;
  }

  MemoryVolume data_;
  NamedProcesses processes_;
};

TEST_F(LeaseTest, ItsHolderAlonePublishes) {
  const auto holder = writer(1);
  MUST(try_take(*holder));
  EXPECT_EQ(lease().epoch, 1);
  EXPECT_TRUE(data_.volume().head().has_feature(kLeases)) << "earlier builds know none";
  EXPECT_TRUE(try_write(*holder, "a").ok());
  const auto other = writer(2);
  const Result<Manifest> refused = try_write(*other, "b");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kConflict);
  EXPECT_NE(refused.error().message.find("/mnt/1 of here (process 1)"), std::string::npos)
      << refused.error().message;
  const auto put = data_.try_run(
      put_tree(*data_.loop(), *other, testing::source_of_contents({{"c", "1"}}), {}, {}));
  EXPECT_EQ(put.error().code, Errc::kConflict) << "before anything is read";
  data_.run(set_tag(*other, "latest", "a-tag", false));
  EXPECT_EQ(lease().epoch, 1) << "no version is changed by it";
  EXPECT_TRUE(try_write(*holder, "d").ok());
}

TEST_F(LeaseTest, OnceItIsReleasedAnybodyPublishes) {
  const auto holder = writer(1);
  MUST(try_take(*holder));
  data_.run(release_lease(*holder));
  EXPECT_EQ(lease(), (Lease{1, ""}));
  const auto other = writer(2);
  EXPECT_TRUE(try_write(*other, "b").ok());
  MUST(try_take(*other));
  EXPECT_EQ(lease().epoch, 2);
}

// A server that has ended may be followed by the next one of its mount, which goes on.
TEST_F(LeaseTest, OneWhoseProcessHasEndedIsTakenByAMountAndNotByAPut) {
  const auto holder = writer(1);
  MUST(try_take(*holder));
  processes_.ended.insert(1);
  const auto other = writer(2);
  EXPECT_EQ(try_write(*other, "b").error().code, Errc::kConflict);
  MUST(try_take(*other));
  EXPECT_EQ(lease().epoch, 2);
  const Result<Manifest> late = try_write(*holder, "a");
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, Errc::kConflict);
  EXPECT_TRUE(try_write(*other, "b").ok());
}

TEST_F(LeaseTest, OneWhoseSessionIsGoneHasNone) {
  const auto holder = writer(1);
  MUST(try_take(*holder));
  data_.run(data_.store().remove(holder->session().session().key(), {}));
  const auto other = writer(2);
  EXPECT_TRUE(try_write(*other, "b").ok());
  EXPECT_EQ(lease().session, "") << "it went with the version";
  EXPECT_FALSE(try_write(*holder, "a").ok());
}

TEST_F(LeaseTest, IsTakenFromWhoHasEndedAndGoesOnWithItsSession) {
  const auto holder = writer(1);
  MUST(try_take(*holder));
  processes_.ended.insert(1);
  const auto next = writer(1);
  MUST(try_take(*next));
  EXPECT_EQ(lease().epoch, 1) << "the session is the same";
  const auto other = writer(2);
  MUST(try_take(*other));
  EXPECT_EQ(lease().epoch, 2);
  EXPECT_FALSE(try_write(*next, "a").ok());
}

TEST_F(LeaseTest, AHeadWithOneIsReadAsItWasWritten) {
  Head head;
  head.uuid = "uuid";
  head.nonce = "nonce";
  head = with_lease(head, {7, "0123456789abcdef"});
  const Head read = MUST(decode_head(encode_head(head)));
  EXPECT_EQ(read.lease, (Lease{7, "0123456789abcdef"}));
  EXPECT_TRUE(read.has_feature(kLeases));
  head.lease.session = "../other/head";
  EXPECT_EQ(decode_head(encode_head(head)).error().code, Errc::kCorrupt);
}

}  // namespace
}  // namespace runnel::volume
