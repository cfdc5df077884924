#include "control/event_hub.h"

#include <gtest/gtest.h>

#include "control/testing/home.h"
#include "json/value.h"

namespace runnel::control {
namespace {

using testing::Home;
using testing::step;
using Verb = model::JobRequest::Verb;

class EventHubTest : public ::testing::Test {
 protected:
  EventHubTest() { home_.open(); }

  EventPage recent(const EventQuery& query) {
    return MUST(home_.wait(home_.control().events().read(query)));
  }
  EventPage stored(const EventQuery& query, std::int64_t batches = 1'000) {
    return MUST(home_.wait(home_.writer().read<EventPage>(
        [&](store::LogReader& log) { return read_events(log, query, batches); })));
  }
  // All documents that paging through gives, `limit` at a time.
  std::vector<std::string> page_through(JobId job, std::size_t limit) {
    std::vector<std::string> all;
    EventQuery query{EventSeq(0), job, limit};
    while (query.after < home_.control().events().last()) {
      const EventPage page = stored(query);
      for (const EventRecord& event : page.events) all.push_back(event.document);
      EXPECT_GT(page.through, query.after);
      query.after = page.through;
    }
    return all;
  }
  Result<async::Wake> wait_for(EventSeq after, Duration patience) {
    return home_.wait(home_.control().events().changed(after, patience, {}));
  }

  Home home_;
};

TEST_F(EventHubTest, ReadsTheSameFromMemoryAndFromTheLog) {
  const JobId job = home_.submit({step("a", 5)});
  home_.submit({step("b")});
  ASSERT_TRUE(home_.call(Verb::kCancel, job).ok());
  for (const JobId& wanted : {JobId(), job}) {
    const EventPage memory = recent({EventSeq(0), wanted, 100});
    const EventPage log = stored({EventSeq(0), wanted, 100});
    ASSERT_EQ(memory.events.size(), log.events.size());
    EXPECT_EQ(memory.through, log.through);
    for (std::size_t at = 0; at < log.events.size(); ++at) {
      EXPECT_EQ(memory.events[at].document, log.events[at].document);
      EXPECT_EQ(memory.events[at].seq, log.events[at].seq);
    }
  }
}

// A page goes on from where it ends: what is durable and not told yet is another page's.
TEST_F(EventHubTest, NoPageEndsBehindWhatWasTold) {
  home_.submit({step("a")});
  EventHub late(*home_.loop, home_.writer());
  const EventSeq told = late.last();
  home_.submit({step("b")});
  ASSERT_GT(home_.control().events().last(), told);
  const EventPage page = MUST(home_.wait(late.read({EventSeq(0), JobId(), 1'000})));
  EXPECT_EQ(page.through, told);
  EXPECT_EQ(page.events.back().seq, told);
  EXPECT_TRUE(MUST(home_.wait(late.read({page.through, JobId(), 1'000}))).events.empty());
}

TEST_F(EventHubTest, PagesThroughTheLogWithoutGapOrRepeat) {
  for (int job = 0; job < 5; ++job) {
    ASSERT_TRUE(home_.call(Verb::kCancel, home_.submit({step("a", 3)})).ok());
  }
  const auto whole = page_through(JobId(), 1'000);
  EXPECT_EQ(std::ssize(whole), home_.control().events().last().value());
  for (const std::size_t limit : {1U, 2U, 3U, 7U}) EXPECT_EQ(page_through(JobId(), limit), whole);
}

TEST_F(EventHubTest, PagesThroughOneJobsEventsAlone) {
  const JobId first = home_.submit({step("a")});
  const JobId second = home_.submit({step("b")});
  ASSERT_TRUE(home_.call(Verb::kCancel, first).ok());
  ASSERT_TRUE(home_.call(Verb::kCancel, second).ok());
  const auto of_first = page_through(first, 2);
  EXPECT_FALSE(of_first.empty());
  for (const std::string& document : of_first) {
    EXPECT_NE(document.find(first.str()), std::string::npos);
    EXPECT_EQ(document.find(second.str()), std::string::npos);
  }
}

TEST_F(EventHubTest, LooksAtSoManyBatchesAndSaysHowFar) {
  for (int job = 0; job < 10; ++job) home_.submit({step("a")});
  const EventPage page = stored({EventSeq(0), JobId("none"), 100}, 3);
  EXPECT_TRUE(page.events.empty());
  EXPECT_GT(page.through, EventSeq(0));
}

TEST_F(EventHubTest, ReadsWhatIsOlderThanItsMemory) {
  const JobId old = home_.submit({step("a")});
  home_.stop();
  home_.open();  // A new hub remembers nothing.
  home_.submit({step("b")});
  const EventPage page = recent({EventSeq(0), old, 100});
  ASSERT_FALSE(page.events.empty());
  EXPECT_EQ(page.events.front().seq, EventSeq(1));
}

TEST_F(EventHubTest, SaysThatACursorIsOfAnotherLog) {
  home_.submit({step("a")});
  auto read = home_.wait(home_.control().events().read({EventSeq(1'000), JobId(), 10}));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Errc::kGone);
  EXPECT_EQ(read.error().field, "after");
}

TEST_F(EventHubTest, SaysThatACursorIsNoLongerKept) {
  for (int job = 0; job < 3; ++job) {
    home_.submit({step("a")});
    home_.stop();
    home_.open();  // Each stop keeps a snapshot, which lets older batches go.
  }
  home_.stop();
  {
    const std::unique_ptr<store::EventLog> log = MUST(store::open_memory_log(home_.watch.storage));
    MUST(log->prune(MUST(log->acquire_lease()), BatchSeq(1)));
  }
  home_.open();
  auto read = home_.wait(home_.control().events().read({EventSeq(0), JobId(), 10}));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Errc::kGone);
  const EventSeq oldest = MUST(home_.wait(home_.control().events().oldest()));
  EXPECT_GT(oldest, EventSeq(1));
  const EventSeq before(oldest.value() - 1);
  EXPECT_EQ(read.error().hint,
            "begin there: runnel events --after " + std::to_string(before.value()));
  EXPECT_EQ(stored({before, JobId(), 10}, 10).events.front().seq, oldest);
}

TEST_F(EventHubTest, WakesWhoWaitsWhenSomethingHappened) {
  home_.submit({step("a")});
  const EventSeq last = home_.control().events().last();
  EXPECT_EQ(MUST(wait_for(EventSeq(0), Duration::seconds(10))), async::Wake::kNotified);
  EXPECT_EQ(MUST(wait_for(last, Duration::millis(5))), async::Wake::kTimeout);
  async::Timer later(*home_.loop);
  async::Gate gate(*home_.loop);
  struct Submit {
    static Async<void> run(Controller& control) {
      Submission job = testing::submission({step("b")});
      Result<Answer> taken = co_await control.submit(std::move(job), testing::ann(), "");
      CO_TRY(std::move(taken));
      co_return {};
    }
  };
  later.start(Duration::millis(5), [this, &gate] {
    EXPECT_TRUE(home_.loop->spawn(gate, Submit::run(home_.control())).ok());
  });
  EXPECT_EQ(MUST(wait_for(last, Duration::seconds(10))), async::Wake::kNotified);
  EXPECT_TRUE(home_.wait(gate.close()).ok());
}

TEST_F(EventHubTest, NeverShowsWhatTheDiskRefused) {
  home_.submit({step("a")});
  const EventSeq last = home_.control().events().last();
  home_.watch.full = true;
  EXPECT_FALSE(
      home_.wait(home_.control().submit(testing::submission({step("b")}), testing::ann(), ""))
          .ok());
  home_.watch.full = false;
  EXPECT_EQ(home_.control().events().last(), last);
  home_.submit({step("c")});
  const EventPage page = recent({last, JobId(), 100});
  ASSERT_FALSE(page.events.empty());
  EXPECT_EQ(page.events.front().seq.value(), last.value() + 1);
}

}  // namespace
}  // namespace runnel::control
