#include "volume_server/pack_service.h"

#include <sys/socket.h>

#include <array>
#include <bit>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "object/memory/memory_store.h"

namespace runnel::volume_server {
namespace {

// A service of one pack over a pair of sockets, whose other end asks by hand.
class PackServiceTest : public ::testing::Test {
 protected:
  PackServiceTest() {
    memory_.objects()["data/" + pack_key(id_)] = {pack_, "1"};
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    asker_ = std::make_unique<async::Stream>(*loop_, async::UniqueFd(ends[0]));
    service_ = std::make_unique<PackService>(*loop_, async::UniqueFd(ends[1]), packs_);
    MUST(loop_->spawn(serving_, serve()));
  }
  ~PackServiceTest() override {
    asker_.reset();
    MUST(loop_->block_on(packs_.close()));
    MUST(loop_->block_on(serving_.close()));
  }

  Async<void> serve() {
    served_ = co_await service_->serve(serving_.token());
    has_ended_.open();
    co_return {};
  }
  PackQuestion question(std::uint64_t number, std::uint64_t offset, std::uint64_t length) const {
    return {number, id_.bytes, offset, length};
  }
  void ask(const PackQuestion& question) {
    const auto bytes = std::bit_cast<FrameBytes<PackQuestion>>(question);
    const ssize_t sent =
        ::send(asker_->descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ASSERT_EQ(sent, std::ssize(bytes));
  }
  PackAnswer next() { return MUST(loop_->block_on(read_frame<PackAnswer>(*asker_))); }
  std::string rest(const PackAnswer& answer) {
    std::string bytes(answer.size, '\0');
    MUST(loop_->block_on(read_whole(*asker_, bytes)));
    return bytes;
  }
  Result<void> end() {
    MUST(loop_->block_on(has_ended_.wait()));
    return served_;
  }

  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  const std::string pack_ = std::string(100'000, 'a') + std::string(100'000, 'b');
  const volume::ObjectId id_ = volume::ObjectId::of(pack_, "12345678");
  object::MemoryStore memory_;
  const std::shared_ptr<volume::ReaderMemory> budget_ =
      std::make_shared<volume::ReaderMemory>(std::size_t{1} << 20);
  volume::PackCache packs_{*loop_, {memory_, "data/"}, {.memory = budget_}, {}};
  async::Gate serving_{*loop_};
  async::Latch has_ended_{*loop_};
  std::unique_ptr<async::Stream> asker_;
  std::unique_ptr<PackService> service_;
  Result<void> served_;
};

TEST_F(PackServiceTest, AnswersByTheNumberOfTheQuestion) {
  ask(question(7, 99'999, 2));
  const PackAnswer answer = next();
  EXPECT_EQ(answer.number, 7U);
  EXPECT_EQ(answer.is_error, 0U);
  EXPECT_EQ(rest(answer), "ab");
}

TEST_F(PackServiceTest, AQuestionThatFailsIsAnsweredToo) {
  ask(question(1, 150'000, 100'000));
  const PackAnswer failed = next();
  EXPECT_EQ(failed.number, 1U);
  EXPECT_EQ(failed.is_error, 1U);
  EXPECT_NE(rest(failed).find(pack_key(id_)), std::string::npos);
  ask(question(2, 0, 1));
  EXPECT_EQ(rest(next()), "a");
}

TEST_F(PackServiceTest, EndsWellWhenItsAskerIsGone) {
  ask(question(1, 0, 10));
  asker_.reset();
  EXPECT_TRUE(end().ok());
}

TEST_F(PackServiceTest, EndsWithWhatIsNoQuestion) {
  ask(question(1, 0, kRangeMax + 1));
  EXPECT_EQ(end().error().code, Errc::kInvalid);
}

TEST_F(PackServiceTest, APlaceThatNoPackHasIsNone) {
  (void)MUST(loop_->block_on(packs_.read({id_, 0, 100}, {id_, 0, 100})));
  ask(question(1, ~std::uint64_t{0}, 2));  // Whose end is before its begin.
  EXPECT_EQ(end().error().code, Errc::kInvalid);
}

TEST_F(PackServiceTest, AQuestionWithoutANumberOrBytesIsNone) {
  ask(question(0, 0, 10));
  EXPECT_EQ(end().error().code, Errc::kInvalid);
}

TEST_F(PackServiceTest, ManyQuestionsAreAnsweredOnceEach) {
  std::array<int, 40> answers{};
  for (std::uint64_t number = 1; number <= answers.size(); ++number) {
    ask(question(number, number * 1'000, 4'000));
  }
  for (std::size_t count = 0; count < answers.size(); ++count) {
    const PackAnswer answer = next();
    EXPECT_EQ(rest(answer), pack_.substr(answer.number * 1'000, 4'000));
    ++answers.at(answer.number - 1);
  }
  for (const int count : answers) EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace runnel::volume_server
