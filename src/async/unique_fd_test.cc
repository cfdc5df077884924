#include "async/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include <gtest/gtest.h>

namespace runnel::async {
namespace {

int new_descriptor() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

TEST(UniqueFd, ClosesAtItsEnd) {
  int raw = new_descriptor();
  {
    UniqueFd owner(raw);
    EXPECT_TRUE(owner.valid());
    EXPECT_EQ(owner.get(), raw);
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(UniqueFd, MovesItsDescriptor) {
  int raw = new_descriptor();
  UniqueFd first(raw);
  UniqueFd second(std::move(first));
  EXPECT_FALSE(first.valid());  // NOLINT: the state after a move is the test.
  EXPECT_EQ(second.get(), raw);
  int other = new_descriptor();
  UniqueFd third(other);
  third = std::move(second);
  EXPECT_FALSE(is_open(other)) << "what it owned before is closed";
  EXPECT_EQ(third.get(), raw);
}

TEST(UniqueFd, ADuplicateOutlivesIt) {
  UniqueFd first(new_descriptor());
  const UniqueFd second = MUST(first.duplicate());
  EXPECT_NE(second.get(), first.get());
  EXPECT_NE(::fcntl(second.get(), F_GETFD) & FD_CLOEXEC, 0);
  first.reset();
  EXPECT_TRUE(is_open(second.get()));
  EXPECT_FALSE(first.duplicate().ok());
}

TEST(UniqueFd, ReleaseGivesItAwayAndResetIsIdempotent) {
  int raw = new_descriptor();
  UniqueFd owner(raw);
  EXPECT_EQ(owner.release(), raw);
  EXPECT_FALSE(owner.valid());
  EXPECT_TRUE(is_open(raw));
  UniqueFd again(raw);
  again.reset();
  again.reset();
  EXPECT_FALSE(is_open(raw));
  EXPECT_FALSE(UniqueFd().valid());
}

}  // namespace
}  // namespace runnel::async
