#include "volume_sim/oracle.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/agenda.h"
#include "volume/manifest.h"
#include "volume/session.h"
#include "volume_sim/bucket.h"

namespace runnel::volume_sim {
namespace {

const std::string kSession = "data/s/0123456789abcdef";
const volume::VersionPlace kPlace{"4444444444444444", "v/4444444444444444-0000000000000001", 1};

// What no schedule does unless the product is broken.
class OracleTest : public ::testing::Test {
 protected:
  OracleTest() {
    bucket_.watch([this](const Bucket::Change& change) { oracle_.changes(change); });
    data_.uuid = std::string(32, '1');
    mine_.uuid = std::string(32, '2');
    mine_.own_name = "mine";
    mine_.bases = {"data"};
    mine_.promise = std::string(16, '3');
    mine_.is_made = true;
  }

  void put(const std::string& key, std::string bytes) { put_by(1, key, std::move(bytes)); }
  void put_by(std::uint64_t process, const std::string& key, std::string bytes) {
    const Bucket::Stored* const before = bucket_.find(key);
    const object::Condition condition =
        before == nullptr ? object::Condition::absent() : object::Condition::matches(before->etag);
    MUST(bucket_.put(process, key, object::make_body(std::move(bytes)), condition));
  }
  void put_head(const std::string& volume, volume::Head& head) { put_head_by(1, volume, head); }
  void put_head_by(std::uint64_t process, const std::string& volume, volume::Head& head) {
    ++head.generation;
    put_by(process, volume + "/head", encode_head(head));
  }

  void put_session(std::uint64_t process, const std::string& kind) {
    volume::SessionRecord record;
    record.kind = kind;
    put_by(process, kSession, encode_session(record));
  }

  Agenda agenda_{Time::from_millis(0)};
  Bucket bucket_{agenda_};
  Oracle oracle_{agenda_, bucket_};
  volume::Head data_;
  volume::Head mine_;
};

TEST_F(OracleTest, APromiseStaysAsLongAsItsClone) {
  data_.clones["mine"] = {kPlace, mine_.promise, true, false};
  put_head("data", data_);
  put_head("mine", mine_);
  EXPECT_EQ(oracle_.violation(), "");
  data_.clones.clear();
  put_head("data", data_);
  EXPECT_EQ(oracle_.violation(), "2: the promise to the clone mine is broken");
}

TEST_F(OracleTest, APromiseGoesWithItsClone) {
  data_.clones["mine"] = {kPlace, mine_.promise, true, false};
  put_head("data", data_);
  put_head("mine", mine_);
  mine_.bases.clear();
  mine_.features = {std::string(volume::kDeleted)};
  mine_.is_gone = true;
  put_head("mine", mine_);
  data_.clones.clear();
  put_head("data", data_);
  EXPECT_EQ(oracle_.violation(), "");
  EXPECT_EQ(oracle_.deletions(), 1);
  oracle_.told_deleted(mine_.uuid);
  EXPECT_EQ(oracle_.violation(), "");
}

TEST_F(OracleTest, NobodyPublishesBesideTheHolderOfTheLease) {
  put_session(1, "mount");
  data_ = with_lease(data_, {1, kSession.substr(kSession.rfind('/') + 1)});
  put_head("data", data_);
  EXPECT_EQ(oracle_.violation(), "");
  data_.recent = {kPlace};
  put_head_by(2, "data", data_);
  EXPECT_EQ(oracle_.violation(), "7: a version is published beside the holder of the lease");
}

TEST_F(OracleTest, ALeaseIsTakenFromNobodyWhoLives) {
  put_session(1, "mount");
  data_ = with_lease(data_, {1, kSession.substr(kSession.rfind('/') + 1)});
  put_head("data", data_);
  data_ = with_lease(data_, {2, "fedcba9876543210"});
  put_head_by(2, "data", data_);
  EXPECT_EQ(oracle_.violation(), "7: a lease is taken from its holder");
}

TEST_F(OracleTest, ALeaseIsTakenFromTheDead) {
  put_session(1, "mount");
  data_ = with_lease(data_, {1, kSession.substr(kSession.rfind('/') + 1)});
  put_head("data", data_);
  oracle_.is_dead(1);
  data_ = with_lease(data_, {2, "fedcba9876543210"});
  put_head_by(2, "data", data_);
  EXPECT_EQ(oracle_.violation(), "");
}

TEST_F(OracleTest, WhatWasToldMustHaveBeen) {
  put_head("data", data_);
  oracle_.told_made(data_.uuid);
  EXPECT_EQ(oracle_.violation(), "");
  oracle_.told_deleted(data_.uuid);
  EXPECT_EQ(oracle_.violation(), "2: volume " + data_.uuid + " was not deleted");
}

TEST_F(OracleTest, AVolumeThatNobodyMadeIsNotTold) {
  oracle_.told_made(mine_.uuid);
  EXPECT_EQ(oracle_.violation(), "2: there was never a volume " + mine_.uuid);
}

// The same files put into two volumes have one id.
TEST_F(OracleTest, AVersionIsPublishedInItsVolume) {
  volume::Manifest manifest;
  manifest.uuid = data_.uuid;
  manifest.version = volume::version_id("", manifest.tree);
  const std::string key = volume::manifest_key(manifest.version, "0000000000000001");
  data_.recent = {{manifest.version, key, 1}};
  put("data/" + key, encode_manifest(manifest));
  put_head("data", data_);
  oracle_.told_published(manifest);
  EXPECT_EQ(oracle_.violation(), "");
  manifest.uuid = mine_.uuid;
  oracle_.told_published(manifest);
  EXPECT_EQ(oracle_.violation(), "2: version " + manifest.version + " was never the newest");
}

TEST_F(OracleTest, NothingIsLeftOfADeletedVolume) {
  put_head("data", data_);
  oracle_.check_deleted("data");
  EXPECT_EQ(oracle_.violation(), "");
  put("data/g/0123456789abcdef", "");
  oracle_.check_deleted("mine");
  EXPECT_EQ(oracle_.violation(), "");
  oracle_.check_deleted("data");
  EXPECT_EQ(oracle_.violation(), "7: data/g/0123456789abcdef is left of a deleted volume");
}

TEST_F(OracleTest, ASessionIsTakenOverFromTheDead) {
  put_session(1, "put");
  oracle_.is_dead(1);
  put_session(2, "put");
  EXPECT_EQ(oracle_.violation(), "");
  EXPECT_EQ(oracle_.resumptions(), 1);
  put_session(3, "put");
  EXPECT_EQ(oracle_.violation(), "4: " + kSession + " is taken from its owner");
}

TEST_F(OracleTest, ASessionIsRemovedByItsOwner) {
  put_session(1, "put");
  bucket_.remove(1, kSession);
  EXPECT_EQ(oracle_.violation(), "");
}

TEST_F(OracleTest, ASessionIsRemovedOnceItsOwnerIsSaidToBeDead) {
  put_session(1, "put");
  oracle_.is_dead(1);
  put_session(2, volume::kEndedKind);
  bucket_.remove(2, kSession);
  EXPECT_EQ(oracle_.violation(), "");
}

TEST_F(OracleTest, ASessionIsNotRemovedWithoutAWord) {
  put_session(1, "put");
  oracle_.is_dead(1);
  bucket_.remove(2, kSession);
  EXPECT_EQ(oracle_.violation(), "4: " + kSession + " is removed while it lives");
}

TEST_F(OracleTest, NobodyIsTakenForDeadWhoLives) {
  put_session(1, "put");
  put_session(2, volume::kEndedKind);
  EXPECT_EQ(oracle_.violation(), "4: " + kSession + " is taken for dead while it lives");
}

TEST_F(OracleTest, WhoIsTakenForDeadStaysSo) {
  put_session(1, "put");
  oracle_.is_dead(1);
  put_session(2, volume::kEndedKind);
  put_session(1, "put");
  EXPECT_EQ(oracle_.violation(), "4: " + kSession + " is alive again");
}

}  // namespace
}  // namespace runnel::volume_sim
