#include "cli/facts_text.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

TEST(FactsText, StandsInTwoColumns) {
  EXPECT_EQ(facts_text({{"volume", "data"}, {"of", "a store"}, {"tree", "0123"}}),
            "volume  data\n"
            "of      a store\n"
            "tree    0123\n");
  EXPECT_EQ(facts_text({{"one", "fact"}}), "one  fact\n");
}

TEST(FactsText, HasADashForWhatIsEmpty) {
  EXPECT_EQ(facts_text({{"parent", ""}, {"tags", "a, b"}}),
            "parent  -\n"
            "tags    a, b\n");
}

TEST(FactsText, NothingInItMakesALineOfItsOwn) {
  EXPECT_EQ(facts_text({{"message", "two\nlines\x1b[2J"}}), "message  two\\nlines\\x1b[2J\n");
  EXPECT_EQ(facts_text({{"message", "\xff"}}), "message  \\xff\n");
}

TEST(FactsText, OfNothingIsNothing) { EXPECT_EQ(facts_text({}), ""); }

}  // namespace
}  // namespace runnel::cli
