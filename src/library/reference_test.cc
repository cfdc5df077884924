#include "library/reference.h"

#include <gtest/gtest.h>

namespace runnel::library {
namespace {

TEST(Reference, IsReadAsItWasWritten) {
  const Reference reference{"s3://bucket/some prefix", "data", "0123456789abcdef", "v/\"x\"-1"};
  EXPECT_EQ(MUST(decode_reference(encode_reference(reference))), reference);
  const Reference empty{"file:///store", "data", "", ""};
  EXPECT_EQ(MUST(decode_reference(encode_reference(empty))), empty);
}

TEST(Reference, RefusesWhatIsNone) {
  for (const char* text : {"", "{", "[]", R"({"store": "s3://b"})", R"({"volume": "data"})"}) {
    const Result<Reference> reference = decode_reference(text);
    ASSERT_FALSE(reference.ok()) << text;
    EXPECT_EQ(reference.error().code, Errc::kInvalid);
    EXPECT_NE(reference.error().hint.find("runnel_reference()"), std::string::npos);
  }
}

}  // namespace
}  // namespace runnel::library
