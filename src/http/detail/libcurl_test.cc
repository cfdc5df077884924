#include "http/detail/libcurl.h"

#include <string>

#include <gtest/gtest.h>

#include "base/check.h"

namespace runnel::http::detail {
namespace {

TEST(Libcurl, IsLoadedOnceAndWhole) {
  MUST(load_libcurl());
  const Libcurl& first = libcurl();
  MUST(load_libcurl());
  EXPECT_EQ(&libcurl(), &first);
  EXPECT_NE(std::string(first.easy_strerror(CURLE_COULDNT_CONNECT)), "");
  CURL* const handle = first.easy_init();
  ASSERT_NE(handle, nullptr);
  long status = -1;
  EXPECT_EQ(first.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status), CURLE_OK);
  EXPECT_EQ(status, 0) << "nothing was asked yet";
  first.easy_cleanup(handle);
}

}  // namespace
}  // namespace runnel::http::detail
