#include "base/append.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace runnel {
namespace {

TEST(AppendAll, KeepsTheOrder) {
  std::vector<std::string> all{"a", "b"};
  append_all(all, {"c"});
  append_all(all, {});
  EXPECT_EQ(all, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(AppendAll, MovesIntoNothing) {
  std::vector<std::unique_ptr<int>> all;
  std::vector<std::unique_ptr<int>> more;
  more.push_back(std::make_unique<int>(3));
  append_all(all, std::move(more));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(*all[0], 3);
}

}  // namespace
}  // namespace runnel
