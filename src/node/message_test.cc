#include "node/message.h"

#include <gtest/gtest.h>

namespace runnel::node {
namespace {

TEST(Message, ItsNewsAreThoseOfWhicheverKindItIs) {
  News news;
  news.ranks.emplace_back().rank = 4;
  Up message{NodeId("n"), {}, Report{news}};
  EXPECT_EQ(news_of(message), news);
  message.what = GoodBye{news};
  EXPECT_EQ(news_of(message), news);
  message.what = Inventory{{}, news, false, {}};
  EXPECT_EQ(news_of(message), news);
  message.what = InventoryPart{news, {}};
  EXPECT_EQ(news_of(message), news);
  message.what = Inventory();
  EXPECT_EQ(news_of(message), News());
  message.what = Beat();
  EXPECT_EQ(news_of(message), News());
}

}  // namespace
}  // namespace runnel::node
