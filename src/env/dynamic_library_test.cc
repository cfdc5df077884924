#include "env/dynamic_library.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace runnel::env {
namespace {

TEST(DynamicLibrary, FindsAFunctionOfALibraryThatIsHere) {
  const DynamicLibrary library = MUST(DynamicLibrary::open("libm.so.6"));
  double (*root)(double) = nullptr;
  MUST(library.find("sqrt", root));
  EXPECT_EQ(root(4), 2);
}

TEST(DynamicLibrary, NamesALibraryThatIsNot) {
  const Error error = DynamicLibrary::open("libno-such.so.1").error();
  EXPECT_EQ(error.code, Errc::kNotFound);
  EXPECT_NE(error.message.find("libno-such.so.1"), std::string::npos) << error.message;
}

TEST(DynamicLibrary, NamesAFunctionThatIsNot) {
  const DynamicLibrary library = MUST(DynamicLibrary::open("libm.so.6"));
  void (*missing)() = nullptr;
  const Result<void> found = library.find("no_such_function", missing);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Errc::kUnsupported);
  EXPECT_NE(found.error().message.find("no_such_function"), std::string::npos);
}

}  // namespace
}  // namespace runnel::env
