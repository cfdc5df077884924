#include "http/endpoint.h"

#include <gtest/gtest.h>

namespace runnel::http {
namespace {

TEST(Endpoint, ReadsAndWritesBothKinds) {
  for (const char* text :
       {"unix:/run/runnel.sock", "unix:relative", "http://127.0.0.1:8080", "http://[::1]:80"}) {
    EXPECT_EQ(MUST(Endpoint::parse(text)).to_string(), text);
  }
  EXPECT_EQ(MUST(Endpoint::parse("http://127.0.0.1:8080/")).port, 8080);
  EXPECT_EQ(MUST(Endpoint::parse("http://[::1]:80")).host, "::1");
}

TEST(Endpoint, RefusesTheRestWithAnExample) {
  for (const char* bad : {"", "unix:", "http://", "http://h", "http://:80", "http://h:0",
                          "http://h:65536", "http://h:8x", "https://h:1", "/path"}) {
    Result<Endpoint> parsed = Endpoint::parse(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error().value, bad);
    EXPECT_FALSE(parsed.error().hint.empty());
  }
}

}  // namespace
}  // namespace runnel::http
