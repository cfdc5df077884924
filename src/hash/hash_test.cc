#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "hash/sha256.h"
#include "hash/xxh3.h"

namespace runnel::hash {
namespace {

// The examples of FIPS 180-4.
TEST(Sha256, AgreesWithTheStandard) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Chain, IsTheHashOfPreviousNewlinePayload) {
  EXPECT_EQ(chain("", "abc"), sha256_hex("\nabc"));
  EXPECT_EQ(chain(chain("", "a"), "b"), sha256_hex(sha256_hex("\na") + "\nb"));
}

TEST(Chain, DependsOnEachLinkAndTheirOrder) {
  const std::string ab = chain(chain("", "a"), "b");
  EXPECT_NE(ab, chain(chain("", "b"), "a"));
  EXPECT_NE(ab, chain("", "a\nb"));
  EXPECT_EQ(ab.size(), 64U);
}

TEST(Sha256, EveryThreadHashesAlike) {
  std::vector<std::thread> threads;
  std::vector<std::string> results(8);
  for (std::string& result : results) {
    threads.emplace_back([&result] {
      for (int i = 0; i < 200; ++i) result = chain(result, "payload");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) EXPECT_EQ(result, results[0]);
}

TEST(Xxh3, AgreesWithItsReferenceAndTakesASeed) {
  EXPECT_EQ(xxh3(""), 0x2d06800538d394c2U);
  EXPECT_NE(xxh3("abc", 0), xxh3("abc", 1));
  EXPECT_EQ(xxh3("abc", 7), xxh3("abc", 7));
  EXPECT_NE(xxh3("abc"), xxh3("abd"));
}

}  // namespace
}  // namespace runnel::hash
