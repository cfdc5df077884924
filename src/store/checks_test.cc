#include "store/checks.h"

#include <random>

#include <gtest/gtest.h>

#include "store/testing/batches.h"

namespace runnel::store {
namespace {

using testing::next_batch;

const Epoch kEpoch(3);

Head head_after(const Batch& batch, std::string hash) {
  return {batch.seq, batch.next_event(), std::move(hash), batch.epoch};
}

// Three batches chained from an empty log.
std::vector<Batch> chained() {
  std::vector<Batch> batches;
  Head head;
  for (int i = 0; i < 3; ++i) {
    batches.push_back(next_batch(head, kEpoch, i));
    head = head_after(batches.back(), "");
  }
  MUST(chain_batches(Head(), kEpoch, batches));
  return batches;
}

TEST(CheckEpoch, TakesTheLatestAlone) {
  EXPECT_TRUE(check_epoch(kEpoch, kEpoch).ok());
  for (const Epoch other : {Epoch(2), Epoch(4), Epoch()}) {
    const Error error = check_epoch(other, kEpoch).error();
    EXPECT_EQ(error.code, Errc::kPrecondition);
    EXPECT_FALSE(error.hint.empty());
  }
}

TEST(ChainBatches, ReturnsTheHeadAfterThem) {
  std::vector<Batch> batches = chained();
  const Head head = MUST(chain_batches(Head(), kEpoch, batches));
  EXPECT_EQ(head.last, BatchSeq(3));
  EXPECT_EQ(head.next_event, EventSeq(4));
  EXPECT_EQ(head.hash, batches.back().hash);
}

TEST(ChainBatches, DoesNotDependOnHowTheyAreGrouped) {
  const std::vector<Batch> together = chained();
  Head head;
  for (const Batch& batch : together) {
    std::vector<Batch> alone = {testing::without_hash(batch)};
    head = MUST(chain_batches(head, kEpoch, alone));
    EXPECT_EQ(alone.front(), batch);
  }
}

TEST(ChainBatches, OfNothingIsTheHeadItself) {
  std::vector<Batch> none;
  const Head head{BatchSeq(7), EventSeq(9), "hash", kEpoch};
  EXPECT_EQ(MUST(chain_batches(head, kEpoch, none)), head);
}

TEST(ChainBatchesDeathTest, ABatchHasItsTexts) {
  std::vector<Batch> batches = {next_batch(Head(), kEpoch)};
  batches.front().input.clear();
  EXPECT_DEATH((void)chain_batches(Head(), kEpoch, batches), "input");
  batches = {next_batch(Head(), kEpoch)};
  batches.front().events.clear();
  EXPECT_DEATH((void)chain_batches(Head(), kEpoch, batches), "events");
  batches = {next_batch(Head(), kEpoch)};
  batches.front().event_count = -1;
  EXPECT_DEATH((void)chain_batches(Head(), kEpoch, batches), "negative");
}

TEST(VerifyFollows, AcceptsAChain) {
  Head head;
  for (const Batch& batch : chained()) {
    EXPECT_TRUE(verify_follows(batch, head.last, head.next_event, head.hash).ok());
    head = head_after(batch, batch.hash);
  }
}

TEST(VerifyFollows, NamesTheBatchThatIsWrong) {
  const std::vector<Batch> batches = chained();
  const Head one = head_after(batches[0], batches[0].hash);
  const auto error_of = [&](const Batch& batch) {
    return verify_follows(batch, one.last, one.next_event, one.hash).error();
  };
  EXPECT_EQ(error_of(batches[2]).message, "batch 2 of the event log is missing");
  EXPECT_EQ(error_of(batches[2]).value, "2");
  Batch changed = batches[1];
  changed.now = Time::from_millis(5);
  EXPECT_NE(error_of(changed).message.find("hash"), std::string::npos);
  changed = batches[1];
  changed.first_event = EventSeq(5);
  EXPECT_NE(error_of(changed).message.find("events do not follow"), std::string::npos);
  changed = batches[1];
  changed.event_count = -1;
  EXPECT_EQ(error_of(changed).code, Errc::kCorrupt);
  EXPECT_EQ(verify_follows(batches[1], one.last, one.next_event, "other").error().value, "2");
}

TEST(Errors, SayWhatIsNotThere) {
  EXPECT_EQ(pruned("event 3", BatchSeq(9)).message,
            "event 3 is no longer kept: the event log was pruned up to batch 9");
  EXPECT_EQ(no_such_event(EventSeq(7), EventSeq(5)).message,
            "there is no event 7: the next one will be 5");
  EXPECT_EQ(no_such_key("p/j").message, "the archive has no 'p/j'");
  EXPECT_EQ(not_in_log(BatchSeq(4), BatchSeq(2)).code, Errc::kPrecondition);
  EXPECT_EQ(not_covered(BatchSeq(4)).code, Errc::kPrecondition);
  EXPECT_EQ(log_is_broken().code, Errc::kIo);
}

TEST(PageToken, IsReadBackWhateverItHolds) {
  std::mt19937 random(1);
  const auto any_text = [&] {
    std::string text(random() % 6, ' ');
    for (char& c : text) c = "0:9/\n\"x"[random() % 7];
    return text;
  };
  for (int i = 0; i < 2000; ++i) {
    const PagePlace place{any_text(), any_text()};
    const PagePlace read = MUST(parse_page_token(page_token(place)));
    ASSERT_EQ(read.sort_key, place.sort_key);
    ASSERT_EQ(read.key, place.key);
  }
}

TEST(PageToken, OtherTextIsRefusedWithAHint) {
  for (const char* token : {"", "a", "1", "1:", ":a", "-1:a", "+1:a", " 1:a", "3:ab", "x:ab"}) {
    const Result<PagePlace> place = parse_page_token(token);
    ASSERT_FALSE(place.ok()) << token;
    EXPECT_EQ(place.error().value, token);
    EXPECT_FALSE(place.error().hint.empty());
  }
}

}  // namespace
}  // namespace runnel::store
