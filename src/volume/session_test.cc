#include "volume/session.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "env/random.h"
#include "object/forwarding_store.h"
#include "object/memory/memory_store.h"
#include "volume/condemned.h"
#include "volume/object_id.h"
#include "volume/seen_session.h"
#include "volume/testing/disturbed_store.h"

namespace runnel::volume {
namespace {

class SessionTest : public ::testing::Test {
 protected:
  template <typename T>
  T run(Async<T> work) {
    return MUST(loop_->block_on(std::move(work)));
  }
  Session begin() { return begin(store_); }
  Session begin(object::ObjectStore& store) {
    SessionRecord record = session_of_this_process("put");
    record.source = "/data";
    return run(Session::begin(store, env::real_random(), "v/", record, {}));
  }
  SessionRecord stored(const Session& session) {
    return MUST(decode_session(store_.objects().at(session.key()).bytes));
  }

  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  object::MemoryStore store_;
};

TEST_F(SessionTest, SaysWhoseItIs) {
  const Session session = begin();
  EXPECT_EQ(stored(session), session.record());
  EXPECT_EQ(session.record().pid, ::getpid());
  EXPECT_FALSE(session.record().boot.empty());
  EXPECT_NE(session.record().pid_namespace, 0);
  EXPECT_EQ(session.key().substr(0, 4), "v/s/");
}

TEST_F(SessionTest, WhatItPutsHasItsTag) {
  Session session = begin();
  EXPECT_EQ(session_tag(session.key()), session.tag());
  std::set<std::string> keys;
  for (int number = 0; number < 100; ++number) {
    std::string nonce;
    const std::uint64_t drawn = session.nonces().next();
    for (int byte = 7; byte >= 0; --byte) nonce += static_cast<char>(drawn >> (8 * byte));
    keys.insert(pack_key(ObjectId::of("same", nonce)));
  }
  EXPECT_EQ(keys.size(), 100U);
  for (const std::string& key : keys) EXPECT_EQ(object_tag(key), session.tag());
  EXPECT_EQ(object_tag("head"), "");
  EXPECT_EQ(object_tag("v/0123456789abcdef-0123"), "");
  EXPECT_EQ(session_tag("v/s/probe-0123456789abcdef"), "");
}

TEST_F(SessionTest, SaysSomethingElseByASwap) {
  Session session = begin();
  SessionRecord next = session.record();
  next.pin = "v/one";
  MUST(loop_->block_on(session.replace(next)));
  EXPECT_EQ(stored(session).pin, "v/one");
  EXPECT_EQ(stored(session).beat, 1);
  MUST(loop_->block_on(session.end()));
  EXPECT_TRUE(store_.objects().empty());
}

TEST_F(SessionTest, IsNotBroughtBackByItsOwner) {
  Session session = begin();
  store_.objects().clear();
  const Error error = loop_->block_on(session.replace(session.record())).error();
  EXPECT_EQ(error.code, Errc::kConflict);
  EXPECT_NE(error.message.find("this put was taken for dead"), std::string::npos);
  EXPECT_EQ(error.hint, "run it again");
  EXPECT_TRUE(store_.objects().empty());
}

// Refuses the first swaps as if each met a late request, whose effect another one has undone since.
class ContestedStore final : public object::ForwardingStore {
 public:
  ContestedStore(object::ObjectStore& inner, int refusals)
      : ForwardingStore(inner), refusals_(refusals) {}

  Async<std::string> put(std::string key, object::Body bytes, object::Condition condition,
                         async::StopToken stop) override {
    const bool is_swap = condition.kind == object::Condition::Kind::kMatches;
    if (is_swap && refusals_-- > 0) co_return Error(Errc::kPrecondition, "was replaced");
    co_return co_await inner().put(std::move(key), std::move(bytes), std::move(condition), stop);
  }

 private:
  int refusals_;
};

TEST_F(SessionTest, GoesOnAfterLateRequestsOfItsOwn) {
  ContestedStore contested(store_, 2);
  Session session = run(Session::begin(contested, env::real_random(), "v/", {.kind = "put"}, {}));
  MUST(loop_->block_on(session.replace(session.record())));
  EXPECT_EQ(stored(session).beat, 1);
}

TEST_F(SessionTest, GivesUpAtASwapThatIsAlwaysRefused) {
  ContestedStore contested(store_, 1'000);
  Session session = run(Session::begin(contested, env::real_random(), "v/", {.kind = "put"}, {}));
  const Error error = loop_->block_on(session.replace(session.record())).error();
  EXPECT_EQ(error.code, Errc::kPrecondition);
  EXPECT_EQ(stored(session).beat, 0);
}

TEST(SessionRecordTest, ADamagedOneIsAnError) {
  for (const char* text : {"", "1", "{}", "{\"kind\":7}", "{\"kind\":\"put\",\"pid\":\"x\"}"}) {
    EXPECT_EQ(decode_session(text).error().code, Errc::kCorrupt) << text;
  }
}

// Or a gc of today would delete what a build of tomorrow is putting.
TEST(SessionRecordTest, WhatALaterBuildAddsIsPassedOver) {
  SessionRecord record = session_of_this_process("put");
  record.pin = "v/3-4";
  std::string text = encode_session(record);
  text.insert(1, R"("another":{"of":["a","later"]},)");
  EXPECT_EQ(encode_session(MUST(decode_session(text))), encode_session(record));
}

constexpr const char* kPack = "p/0123456789abcdef-0000000000000001";
constexpr const char* kManifest = "v/0123456789abcdef-0000000000000002";

TEST(CondemnedTest, IsReadAsItWasWritten) {
  const Condemned condemned{{kPack, kManifest, "g/0123456789abcdef"},
                            {{"01234567", "v/3-4"}, {"89abcdef", ""}}};
  const std::string text = encode_condemned(condemned);
  const Condemned read = MUST(decode_condemned(text));
  EXPECT_EQ(read.keys, condemned.keys);
  EXPECT_EQ(read.live, condemned.live);
  EXPECT_TRUE(read.has_live("01234567", "v/3-4"));
  EXPECT_FALSE(read.has_live("01234567", ""));
  EXPECT_FALSE(read.has_live("76543210", ""));
  EXPECT_TRUE(MUST(decode_condemned(encode_condemned({}))).keys.empty());
}

// A list that is cut short would leave live sessions out.
TEST(CondemnedTest, ADamagedOneIsAnError) {
  const std::string text = encode_condemned({{kPack, kManifest}, {{"01234567", "v/3-4"}}});
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(decode_condemned(text.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(decode_condemned("runnel condemned 1\nother x\nend\n").ok());
  for (const char* key : {"", "head", "p/1-2", "../p/0123456789abcdef-0000000000000001",
                          "p/../0123456789abcdef-0000000000000001", "s/0123456789abcdef"}) {
    EXPECT_FALSE(decode_condemned(encode_condemned({{key}, {}})).ok()) << key;
  }
}

// A process of this machine that has ended: none has this number.
SessionRecord ended(SessionRecord record) {
  record.pid = 1 << 30;
  return record;
}

TEST_F(SessionTest, IsTakenOverByOneAndLostToItsOwner) {
  Session session = begin();
  const object::Object there = run(store_.get(session.key(), kSessionBytesMax, {}));
  const SessionRecord who = session_of_this_process("put");
  const auto take_over = [&] {
    return run(Session::take_over(store_, env::real_random(), session.key(), there, who, {}));
  };
  std::optional<Session> taken = take_over();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->tag(), session.tag());
  EXPECT_EQ(taken->key(), session.key());
  EXPECT_EQ(taken->record().source, "/data");
  EXPECT_FALSE(take_over()) << "it is another's by now";
  EXPECT_EQ(loop_->block_on(session.replace(session.record())).error().code, Errc::kConflict);
  MUST(loop_->block_on(session.end()));
  MUST(loop_->block_on(taken->replace(taken->record())));
  EXPECT_EQ(stored(*taken), taken->record());
}

// Found by the simulator: gc had seen it as that of a dead process, and removed what a put had
// taken over meanwhile.
TEST_F(SessionTest, OneThatIsTakenOverMeanwhileIsNotRemoved) {
  const Session session = begin();
  const SeenSession seen = run(see_sessions(store_, "v/", {})).at(0);
  const object::Object there = run(store_.get(session.key(), kSessionBytesMax, {}));
  const SessionRecord who = session_of_this_process("put");
  std::optional<Session> taken =
      run(Session::take_over(store_, env::real_random(), session.key(), there, who, {}));
  EXPECT_FALSE(run(remove_session(store_, seen, {})));
  MUST(loop_->block_on(taken->replace(taken->record())));
  EXPECT_TRUE(run(remove_session(store_, run(see_sessions(store_, "v/", {})).at(0), {})));
  EXPECT_TRUE(store_.objects().empty());
}

TEST_F(SessionTest, OneThatIsTakenForDeadIsTakenOverByNobody) {
  Session session = begin();
  testing::ShortLivedStore mortal(store_, 1);
  const SeenSession seen = run(see_sessions(store_, "v/", {})).at(0);
  EXPECT_FALSE(loop_->block_on(remove_session(mortal, seen, {})).ok()) << "killed between";
  EXPECT_EQ(stored(session).kind, kEndedKind) << "of no kind that anybody goes on with";
  EXPECT_EQ(loop_->block_on(session.replace(session.record())).error().code, Errc::kConflict);
  EXPECT_TRUE(run(remove_session(store_, run(see_sessions(store_, "v/", {})).at(0), {})));
  EXPECT_TRUE(store_.objects().empty());
}

// Found by the simulator (seed 5097435): a put was told that it was dead, since the request by which
// the put before it ended had come late.
TEST_F(SessionTest, OneThatHasEndedIsTakenOverByNobody) {
  testing::ShortLivedStore mortal(store_, 2);
  Session session = begin(mortal);
  const object::Object there = run(store_.get(session.key(), kSessionBytesMax, {}));
  EXPECT_FALSE(loop_->block_on(session.end()).ok()) << "what removes it comes late";
  EXPECT_EQ(stored(session).kind, kEndedKind);
  const SessionRecord who = session_of_this_process("put");
  EXPECT_FALSE(run(Session::take_over(store_, env::real_random(), session.key(), there, who, {})));
}

TEST(SessionRecordTest, AnOwnerHasEndedWhenItsProcessHere) {
  const SessionRecord here = session_of_this_process("put");
  EXPECT_FALSE(has_ended(here, here));
  EXPECT_TRUE(has_ended(ended(here), here));
}

// Another machine, or another container of this one, may have the name of this host.
TEST(SessionRecordTest, AnOwnerThatCannotBeSeenFromHereMayLive) {
  const SessionRecord here = session_of_this_process("put");
  SessionRecord elsewhere = ended(here);
  elsewhere.host = "elsewhere";
  EXPECT_FALSE(has_ended(elsewhere, here));
  SessionRecord other_boot = ended(here);
  other_boot.boot = "another";
  EXPECT_FALSE(has_ended(other_boot, here));
  SessionRecord contained = ended(here);
  ++contained.pid_namespace;
  EXPECT_FALSE(has_ended(contained, here));
}

// One that an older program has made says no namespace.
TEST(SessionRecordTest, AnOwnerThatDoesNotSayWhereItRunsMayLive) {
  const SessionRecord here = session_of_this_process("put");
  SessionRecord nameless = ended(here);
  nameless.host.clear();
  EXPECT_FALSE(has_ended(nameless, nameless));
  SessionRecord bootless = ended(here);
  bootless.boot.clear();
  EXPECT_FALSE(has_ended(bootless, bootless));
  SessionRecord older = MUST(decode_session(R"({"kind":"put","pid":1073741824})"));
  older.host = here.host;
  older.boot = here.boot;
  EXPECT_EQ(older.pid_namespace, 0);
  EXPECT_FALSE(has_ended(older, here));
  EXPECT_FALSE(has_ended(older, older));
}

}  // namespace
}  // namespace runnel::volume
