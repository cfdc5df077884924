#include "http/detail/input_buffer.h"

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace runnel::http::detail {
namespace {

void append(InputBuffer& buffer, std::string_view bytes) {
  std::span<char> room = buffer.room();
  ASSERT_GE(room.size(), bytes.size());
  std::copy(bytes.begin(), bytes.end(), room.begin());
  buffer.commit(bytes.size());
}

TEST(InputBuffer, GivesBackWhatWasPutIn) {
  InputBuffer buffer(8);
  EXPECT_TRUE(buffer.data().empty());
  append(buffer, "abcdef");
  EXPECT_EQ(buffer.data(), "abcdef");
  buffer.consume(4);
  EXPECT_EQ(buffer.data(), "ef");
  append(buffer, "ghijkl");
  EXPECT_EQ(buffer.data(), "efghijkl");
  EXPECT_TRUE(buffer.full());
  EXPECT_TRUE(buffer.room().empty());
  buffer.clear();
  EXPECT_EQ(buffer.room().size(), 8u);
}

TEST(InputBuffer, MisuseEndsTheProcess) {
  InputBuffer buffer(4);
  append(buffer, "ab");
  EXPECT_DEATH(buffer.consume(3), "more was consumed");
  EXPECT_DEATH(buffer.commit(3), "more was read");
}

TEST(InputBuffer, IsAQueueOfBytes) {
  std::mt19937 random(3);
  InputBuffer buffer(64);
  std::string model;
  char next = 'a';
  for (int step = 0; step < 10'000; ++step) {
    std::size_t room = buffer.room().size();
    ASSERT_EQ(room, 64 - model.size());
    std::string bytes(room == 0 ? 0 : random() % room, next++);
    append(buffer, bytes);
    model += bytes;
    std::size_t taken = model.empty() ? 0 : random() % (model.size() + 1);
    buffer.consume(taken);
    model.erase(0, taken);
    ASSERT_EQ(buffer.data(), model);
    ASSERT_EQ(buffer.full(), model.size() == 64);
  }
}

}  // namespace
}  // namespace runnel::http::detail
