#include "model/names.h"

#include <gtest/gtest.h>

namespace runnel::model {
namespace {

TEST(Names, OfJobsStepsAndVariables) {
  EXPECT_TRUE(is_name("a.b-c_1"));
  EXPECT_TRUE(is_name(std::string(100, 'a')));
  EXPECT_FALSE(is_name(std::string(101, 'a')));
  for (const char* text : {"", "-a", ".a", "a b", "a/b", "\xC3\xA9"}) EXPECT_FALSE(is_name(text));
  EXPECT_FALSE(is_step_name("a.b"));
  for (const char* text : {"a", "0", "fashion-mnist_v1.2"}) EXPECT_TRUE(is_volume_name(text));
  EXPECT_TRUE(is_volume_name(std::string(kVolumeNameMax, 'a')));
  EXPECT_FALSE(is_volume_name(std::string(kVolumeNameMax + 1, 'a')));
  for (const char* text : {"", "A", "aB", "-a", "a/b", "a b"}) EXPECT_FALSE(is_volume_name(text));
  EXPECT_TRUE(is_identifier("_A1"));
  for (const char* text : {"", "1a", "a-b", "a.b"}) EXPECT_FALSE(is_identifier(text));
  EXPECT_EQ(as_name("my first  job!"), "my-first-job");
  EXPECT_EQ(as_name("!!"), "");
  EXPECT_EQ(as_name("..a"), "a");
}

TEST(Names, OfVariablesSayWhyNot) {
  EXPECT_FALSE(variable_fault("LR").has_value());
  EXPECT_EQ(variable_fault("1ST")->message, "'1ST' cannot be the name of an environment variable");
  EXPECT_EQ(variable_fault("RUNNEL_JOB_ID")->message, "'RUNNEL_JOB_ID' is set by Runnel itself");
}

}  // namespace
}  // namespace runnel::model
