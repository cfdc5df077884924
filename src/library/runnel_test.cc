#include "library/runnel.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.h"
#include "env/files.h"
#include "library/testing/stored_volume.h"

namespace runnel::library {
namespace {

using testing::noise;
using testing::StoredVolume;

struct FreeVolume {
  void operator()(runnel_volume* volume) const { runnel_free(volume); }
};
using VolumePtr = std::unique_ptr<runnel_volume, FreeVolume>;
using Attributes = struct runnel_attributes;

// A volume with files of all kinds, through the functions of C.
class RunnelTest : public ::testing::Test {
 protected:
  void put_files() {
    stored_.write("empty", "");
    stored_.write("text", std::string(300'000, 'a'));
    stored_.write("long", noise(5'000'000, 1));
    for (int number = 0; number < 300; ++number) {
      const auto seed = static_cast<std::uint64_t>(number);
      stored_.write("many/" + std::to_string(number), noise(3'000, seed));
    }
    version_ = stored_.put();
  }
  VolumePtr open(const char* version = nullptr, const char* cache = nullptr) {
    return VolumePtr(runnel_open("data", version, stored_.url().c_str(), cache, nullptr, &error_));
  }
  VolumePtr put_and_open() {
    put_files();
    VolumePtr volume = open();
    CHECK(volume != nullptr, error_.text);
    return volume;
  }

  // A whole file by its path; "error N" when it cannot be read.
  static std::string read(runnel_volume* volume, const std::string& path) {
    Attributes found{};
    std::string bytes(3'000, '\0');
    std::int64_t size =
        runnel_load(volume, path.c_str(), &found, bytes.data(), bytes.size(), nullptr);
    if (size >= 0 && found.size > bytes.size()) {
      bytes.resize(found.size);
      size = runnel_read(volume, found.inode, 0, bytes.data(), bytes.size(), nullptr);
    }
    if (size < 0) return "error " + std::to_string(-size);
    bytes.resize(static_cast<std::size_t>(size));
    return bytes;
  }
  bool reads_all(runnel_volume* volume) const {
    for (const auto& [name, bytes] : stored_.files()) {
      if (read(volume, name) != bytes) return false;
    }
    return true;
  }
  std::vector<std::string> list(runnel_volume* volume, const char* path, std::size_t at_once) {
    std::vector<std::string> names;
    std::vector<runnel_entry> part(at_once);
    while (true) {
      const std::string after = names.empty() ? "" : names.back();
      const std::int64_t count = runnel_list(volume, path, after.c_str(), RUNNEL_INODE_AND_KIND,
                                             part.data(), part.size(), &error_);
      CHECK(count >= 0, error_.text);
      if (count == 0) return names;
      for (std::int64_t at = 0; at < count; ++at) {
        names.emplace_back(part[static_cast<std::size_t>(at)].name);
      }
    }
  }
  // The errno of a path that leads nowhere; 0: it leads somewhere.
  int refusal(runnel_volume* volume, const std::string& path) {
    Attributes found{};
    error_ = {};
    const int result = runnel_stat(volume, path.c_str(), RUNNEL_FOLLOW_LINKS, &found, &error_);
    EXPECT_EQ(-result, error_.number) << path;
    return error_.number;
  }

  StoredVolume stored_;
  std::string version_;
  runnel_error error_{};
};

TEST_F(RunnelTest, IsOfTheHeadersVersion) { EXPECT_EQ(runnel_abi(), RUNNEL_ABI); }

TEST_F(RunnelTest, GivesWhatWasPut) {
  const VolumePtr volume = put_and_open();
  EXPECT_EQ(runnel_version(volume.get()), version_);
  EXPECT_TRUE(reads_all(volume.get()));
  EXPECT_TRUE(reads_all(volume.get()));
}

TEST_F(RunnelTest, GivesAnyPartOfAFileByItsInode) {
  const VolumePtr volume = put_and_open();
  const std::string& whole = stored_.files().at("long");
  Attributes found{};
  ASSERT_EQ(runnel_stat(volume.get(), "long", RUNNEL_FOLLOW_LINKS, &found, &error_), 0);
  EXPECT_EQ(found.size, whole.size());
  EXPECT_TRUE(S_ISREG(found.mode));
  std::string bytes(200'000, '\0');
  for (const std::uint64_t offset : {0ULL, 1ULL, 4'194'303ULL, 4'900'000ULL, 4'999'999ULL}) {
    const std::int64_t size =
        runnel_read(volume.get(), found.inode, offset, bytes.data(), bytes.size(), &error_);
    const std::string expected = whole.substr(offset, bytes.size());
    ASSERT_EQ(size, static_cast<std::int64_t>(expected.size())) << offset;
    EXPECT_EQ(bytes.substr(0, expected.size()), expected) << offset;
  }
  for (const std::uint64_t offset : {std::uint64_t{5'000'000}, ~std::uint64_t{0}}) {
    EXPECT_EQ(runnel_read(volume.get(), found.inode, offset, bytes.data(), 10, &error_), 0);
  }
  EXPECT_EQ(runnel_read(volume.get(), found.inode, 7, bytes.data(), 0, &error_), 0);
  EXPECT_EQ(runnel_read(volume.get(), 1, 0, bytes.data(), 10, &error_), -EINVAL) << "a folder";
  EXPECT_EQ(runnel_read(volume.get(), 999'999, 0, bytes.data(), 10, &error_), -EIO);
}

TEST_F(RunnelTest, LoadsWhatFits) {
  const VolumePtr volume = put_and_open();
  std::string bytes(3'000, '\0');
  Attributes found{};
  EXPECT_EQ(runnel_load(volume.get(), "many/7", &found, bytes.data(), 3'000, &error_), 3'000);
  EXPECT_EQ(bytes, noise(3'000, 7));
  EXPECT_EQ(runnel_load(volume.get(), "many/8", &found, bytes.data(), 2'999, &error_), 0);
  EXPECT_EQ(found.size, 3'000U) << "it is longer";
  EXPECT_EQ(bytes, noise(3'000, 7)) << "nothing was written";
  EXPECT_EQ(runnel_load(volume.get(), "empty", &found, bytes.data(), 3'000, &error_), 0);
  EXPECT_EQ(found.size, 0U);
}

TEST_F(RunnelTest, ReadsMoreThanIsHeldAtOnce) {
  const std::string whole = std::string(40'000'000, 'z') + noise(1'000'000, 3);
  stored_.write("very_long", whole);
  put_files();
  const VolumePtr volume = open();
  std::string bytes(whole.size() + 9, '\0');
  Attributes found{};
  EXPECT_EQ(runnel_load(volume.get(), "very_long", &found, bytes.data(), bytes.size(), &error_),
            static_cast<std::int64_t>(whole.size()));
  EXPECT_TRUE(bytes.starts_with(whole));
  EXPECT_EQ(runnel_read(volume.get(), found.inode, 5, bytes.data(), bytes.size(), &error_),
            static_cast<std::int64_t>(whole.size() - 5));
  EXPECT_TRUE(bytes.starts_with(whole.substr(5)));
}

TEST_F(RunnelTest, ListsInPartsInByteOrder) {
  const VolumePtr volume = put_and_open();
  const std::vector<std::string> all = list(volume.get(), "many", 1'000);
  ASSERT_EQ(all.size(), 300U);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(list(volume.get(), "/many/", 7), all);
  EXPECT_EQ(list(volume.get(), "", 2), (std::vector<std::string>{"empty", "long", "many", "text"}));
}

TEST_F(RunnelTest, ListsWithAllThatStatSays) {
  const VolumePtr volume = put_and_open();
  std::vector<runnel_entry> entries(10);
  ASSERT_EQ(runnel_list(volume.get(), "", "", RUNNEL_ALL_DETAILS, entries.data(), 10, &error_), 4);
  for (int at = 0; at < 4; ++at) {
    const runnel_entry& entry = entries[static_cast<std::size_t>(at)];
    Attributes found{};
    ASSERT_EQ(runnel_stat(volume.get(), entry.name, RUNNEL_FOLLOW_LINKS, &found, &error_), 0);
    EXPECT_EQ(entry.attributes.size, found.size);
    EXPECT_EQ(entry.attributes.inode, found.inode);
    EXPECT_EQ(entry.attributes.mode, found.mode);
    EXPECT_EQ(entry.attributes.changed, found.changed);
    EXPECT_EQ(entry.attributes.owner, ::getuid());
  }
  EXPECT_TRUE(S_ISDIR(entries[2].attributes.mode)) << entries[2].name;
}

TEST_F(RunnelTest, FollowsLinksInsideOfTheVolume) {
  stored_.write("a/b/file", "x");
  stored_.link("b/file", "a/near");
  stored_.link("../a/./b", "c/folder");
  stored_.link("folder/file", "c/chain");
  stored_.link("circle", "circle");
  stored_.link("/etc/passwd", "absolute");
  stored_.link("../../etc/passwd", "a/up");
  stored_.link("nowhere", "broken");
  put_files();
  const VolumePtr volume = open();
  for (const char* path : {"a/near", "c/folder/file", "c/chain", "a/b/../near", "./a//near"}) {
    EXPECT_EQ(read(volume.get(), path), "x") << path;
  }
  EXPECT_EQ(list(volume.get(), "c/folder", 5), std::vector<std::string>{"file"});
  EXPECT_EQ(refusal(volume.get(), "circle"), ELOOP);
  EXPECT_EQ(refusal(volume.get(), "broken"), ENOENT);
  for (const char* path : {"absolute", "a/up", "..", "a/../.."}) {
    EXPECT_EQ(refusal(volume.get(), path), ENOENT) << path;
    EXPECT_NE(std::string(error_.text).find("leads out of data@"), std::string::npos) << path;
  }
  Attributes found{};
  ASSERT_EQ(runnel_stat(volume.get(), "circle", RUNNEL_LINK_ITSELF, &found, &error_), 0);
  EXPECT_TRUE(S_ISLNK(found.mode));
  EXPECT_EQ(found.size, std::string("circle").size());
}

TEST_F(RunnelTest, SaysWhatIsWrongWithAPath) {
  const VolumePtr volume = put_and_open();
  EXPECT_EQ(refusal(volume.get(), "many/7"), 0);
  EXPECT_EQ(refusal(volume.get(), "many/none"), ENOENT);
  EXPECT_EQ(std::string(error_.text), "there is no 'many/none' in data@" + version_);
  EXPECT_EQ(refusal(volume.get(), "text/x"), ENOTDIR);
  EXPECT_EQ(refusal(volume.get(), "many/" + std::string(256, 'n')), ENAMETOOLONG);
  EXPECT_EQ(read(volume.get(), "many"), "error " + std::to_string(EISDIR));
  EXPECT_EQ(read(volume.get(), "none"), "error " + std::to_string(ENOENT));
  runnel_entry entry;
  EXPECT_EQ(runnel_list(volume.get(), "text", "", RUNNEL_ALL_DETAILS, &entry, 1, &error_),
            -ENOTDIR);
  EXPECT_EQ(runnel_list(volume.get(), "none", "", RUNNEL_ALL_DETAILS, &entry, 1, nullptr), -ENOENT);
}

TEST_F(RunnelTest, CutsTextsThatAreTooLong) {
  const VolumePtr volume = put_and_open();
  EXPECT_EQ(refusal(volume.get(), std::string(200, 'd') + "/x"), ENOENT);
  EXPECT_LT(std::string(error_.text).size(), sizeof error_.text);
}

TEST_F(RunnelTest, SaysWhyItCannotBeOpened) {
  put_files();
  struct Case {
    const char* name;
    const char* version;
    const char* cache_size;
    int number;
  };
  const std::string cache = stored_.file("cache");
  const std::string url = stored_.url();
  for (const Case& each :
       {Case{"Bad Name", nullptr, nullptr, EINVAL}, Case{"none", nullptr, nullptr, ENOENT},
        Case{"data", "no-such", nullptr, ENOENT}, Case{"data", nullptr, "1 banana", EINVAL},
        Case{"data", nullptr, "1MiB", EINVAL}}) {
    error_ = {};
    const VolumePtr volume(
        runnel_open(each.name, each.version, url.c_str(), cache.c_str(), each.cache_size, &error_));
    EXPECT_EQ(volume, nullptr);
    EXPECT_EQ(error_.number, each.number) << error_.text;
    EXPECT_GT(std::string(error_.text).size(), 10U);
  }
  EXPECT_EQ(runnel_open("data", nullptr, "nowhere", nullptr, nullptr, &error_), nullptr);
  EXPECT_EQ(error_.number, EINVAL);
  EXPECT_EQ(runnel_open_reference("{}", nullptr, nullptr, &error_), nullptr);
  EXPECT_EQ(error_.number, EINVAL);
  EXPECT_EQ(stored_.objects("s").size(), 0U) << "who failed to open holds nothing";
}

TEST_F(RunnelTest, AVolumeWithoutVersionsHasAnEmptyRoot) {
  const VolumePtr volume = open();
  ASSERT_NE(volume, nullptr) << error_.text;
  EXPECT_STREQ(runnel_version(volume.get()), "");
  EXPECT_EQ(refusal(volume.get(), ""), 0);
  EXPECT_EQ(refusal(volume.get(), "x"), ENOENT);
  EXPECT_TRUE(list(volume.get(), "", 5).empty());
  put_files();
  const VolumePtr again(
      runnel_open_reference(runnel_reference(volume.get()), nullptr, nullptr, &error_));
  EXPECT_TRUE(list(again.get(), "", 5).empty()) << "the same version as it refers to";
}

TEST_F(RunnelTest, HoldsItsVersionUntilItIsClosed) {
  VolumePtr volume = put_and_open();
  EXPECT_EQ(stored_.objects("s").size(), 1U);
  stored_.write("text", "another");
  stored_.remove("long");
  stored_.put();
  const volume::GcResult collected = stored_.collect_all();
  EXPECT_TRUE(collected.dropped.empty());
  ASSERT_EQ(collected.held.size(), 1U);
  EXPECT_EQ(collected.held[0].version, version_);
  EXPECT_EQ(read(volume.get(), "long"), noise(5'000'000, 1));
  EXPECT_EQ(read(volume.get(), "text"), std::string(300'000, 'a'));
  runnel_close(volume.get());
  EXPECT_EQ(stored_.objects("s").size(), 0U);
  EXPECT_EQ(read(volume.get(), "text"), "error " + std::to_string(EBADF));
  runnel_close(volume.get());
  volume.reset();
  EXPECT_GT(stored_.collect_all().objects, 0);
}

TEST_F(RunnelTest, AReferenceIsTheSameVersionElsewhere) {
  const VolumePtr volume = put_and_open();
  const std::string reference = runnel_reference(volume.get());
  stored_.write("text", "another");
  stored_.put();
  const VolumePtr other(runnel_open_reference(reference.c_str(), nullptr, nullptr, &error_));
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(stored_.objects("s").size(), 1U) << "nothing was asked of it yet";
  EXPECT_EQ(runnel_version(other.get()), version_);
  EXPECT_EQ(read(other.get(), "text"), std::string(300'000, 'a'));
  EXPECT_EQ(stored_.objects("s").size(), 2U);
}

TEST_F(RunnelTest, AReferenceLeadsToItsVersionWhileSomebodyHoldsIt) {
  VolumePtr volume = put_and_open();
  const std::string reference = runnel_reference(volume.get());
  stored_.write("text", "another");
  stored_.put();
  stored_.collect_all();
  VolumePtr other(runnel_open_reference(reference.c_str(), nullptr, nullptr, &error_));
  EXPECT_EQ(read(other.get(), "text"), std::string(300'000, 'a'));
  volume.reset();
  other.reset();
  stored_.collect_all();
  const VolumePtr late(runnel_open_reference(reference.c_str(), nullptr, nullptr, &error_));
  EXPECT_EQ(refusal(late.get(), "text"), ESTALE);
}

TEST_F(RunnelTest, SeveralThreadsReadAtOnce) {
  const VolumePtr volume = put_and_open();
  std::atomic<int> whole = 0;
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; ++number) {
    threads.emplace_back([&] { whole += reads_all(volume.get()) ? 1 : 0; });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(whole, 8);
}

TEST_F(RunnelTest, ClosingEndsWhatIsUnderWay) {
  const VolumePtr volume = put_and_open();
  std::atomic<int> ended = 0;
  std::atomic<int> reads = 0;
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&] {
      std::string result;
      for (; !result.starts_with("error"); ++reads) result = read(volume.get(), "many/7");
      ended += result == "error " + std::to_string(EBADF) ? 1 : 0;
    });
  }
  while (reads < 100) std::this_thread::yield();
  runnel_close(volume.get());
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(ended, 4);
}

TEST_F(RunnelTest, TellsOfDamageAndGivesAllElse) {
  put_files();
  std::string path;
  for (const std::string& name : stored_.objects("p")) path = stored_.path_of("p", name);
  std::string bytes = MUST(env::read_file(path));
  const std::size_t place = bytes.find(noise(64, 7));
  ASSERT_NE(place, std::string::npos) << "the chunk of many/7";
  bytes[place + 10] ^= 1;
  MUST(env::write_file_atomically(path, bytes));
  const VolumePtr volume = open();
  std::string buffer(3'000, '\0');
  Attributes found{};
  EXPECT_EQ(runnel_load(volume.get(), "many/7", &found, buffer.data(), 3'000, &error_), -EIO);
  EXPECT_NE(std::string(error_.text).find("p/" + stored_.objects("p").at(0)), std::string::npos)
      << error_.text;
  EXPECT_EQ(read(volume.get(), "many/8"), noise(3'000, 8));
}

// --- The cache on disk.

TEST_F(RunnelTest, ACacheServesWithoutTheStoresPacks) {
  put_files();
  const std::string cache = stored_.file("cache");
  EXPECT_TRUE(reads_all(open(nullptr, cache.c_str()).get()));
  for (const std::string& name : stored_.objects("p")) {
    MUST(env::remove_file(stored_.path_of("p", name)));
  }
  EXPECT_TRUE(reads_all(open(nullptr, cache.c_str()).get()));
  EXPECT_EQ(read(open().get(), "many/7"), "error " + std::to_string(EIO)) << "without the cache";
}

TEST_F(RunnelTest, ACacheThatCannotBeIsRefused) {
  put_files();
  runnel_error error{};
  EXPECT_EQ(runnel_open("data", nullptr, stored_.url().c_str(), nullptr, "1GiB", &error), nullptr);
  EXPECT_EQ(error.number, EINVAL) << "a size without a cache";
  const std::string file = stored_.file("no folder");
  MUST(env::write_file_atomically(file, ""));
  EXPECT_EQ(runnel_open("data", nullptr, stored_.url().c_str(), file.c_str(), nullptr, &error),
            nullptr);
  EXPECT_EQ(error.number, EBUSY) << error.text;
  EXPECT_EQ(runnel_open("data", nullptr, stored_.url().c_str(), file.c_str(), "1MiB", &error),
            nullptr);
  EXPECT_EQ(error.number, EINVAL) << "it is too small";
}

TEST_F(RunnelTest, WhoFindsACacheTakenDoesWithout) {
  put_files();
  const std::string cache = stored_.file("cache");
  const VolumePtr one = open(nullptr, cache.c_str());
  const VolumePtr other = open(nullptr, cache.c_str());
  EXPECT_TRUE(reads_all(one.get()));
  EXPECT_TRUE(reads_all(other.get()));
}

// --- Forks.

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RUNNEL_THREADS_AFTER_FORK_UNSUPPORTED
#endif
#endif

class ForkTest : public RunnelTest {
 protected:
  void SetUp() override {
#ifdef RUNNEL_THREADS_AFTER_FORK_UNSUPPORTED
    GTEST_SKIP() << "ThreadSanitizer ends a child that starts threads";
#endif
  }
  // What a child says, which ends without destructors, as those of multiprocessing do.
  static pid_t fork_child(const std::function<bool()>& work) {
    const pid_t pid = ::fork();
    CHECK(pid >= 0, "cannot fork");
    if (pid == 0) ::_exit(work() ? 0 : 1);
    return pid;
  }
  static bool was_well(pid_t child) {
    int status = -1;
    CHECK(::waitpid(child, &status, 0) == child, "no such child");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
};

TEST_F(ForkTest, AChildReadsAndEndsItsOwnSessionOnly) {
  const VolumePtr volume = put_and_open();
  EXPECT_EQ(read(volume.get(), "many/7"), noise(3'000, 7));
  const pid_t child = fork_child([&] {
    const bool read_well = reads_all(volume.get());
    const bool has_own = stored_.objects("s").size() == 2;
    runnel_close(volume.get());
    return read_well && has_own && stored_.objects("s").size() == 1;
  });
  EXPECT_TRUE(was_well(child));
  EXPECT_TRUE(reads_all(volume.get())) << "the parent goes on";
  EXPECT_EQ(stored_.objects("s").size(), 1U);
}

TEST_F(ForkTest, AChildThatReadsNothingChangesNothing) {
  const VolumePtr volume = put_and_open();
  EXPECT_TRUE(was_well(fork_child([&] {
    runnel_close(volume.get());
    return stored_.objects("s").size() == 1;
  })));
  EXPECT_TRUE(was_well(fork_child([&] {
    VolumePtr(volume.get()).reset();
    return true;
  })));
  EXPECT_TRUE(reads_all(volume.get()));
}

TEST_F(ForkTest, AChildOfAChildReads) {
  const VolumePtr volume = put_and_open();
  const pid_t child = fork_child([&] {
    const bool before = reads_all(volume.get());
    const bool below = was_well(fork_child([&] { return reads_all(volume.get()); }));
    return before && below && reads_all(volume.get());
  });
  EXPECT_TRUE(was_well(child));
}

TEST_F(ForkTest, AChildReadsTheVersionThatItsParentHoldsOverAGc) {
  const VolumePtr volume = put_and_open();
  stored_.write("text", "another");
  stored_.put();
  stored_.collect_all();
  EXPECT_TRUE(was_well(
      fork_child([&] { return read(volume.get(), "text") == std::string(300'000, 'a'); })));
}

// Locks of the parent are held by its threads at the moment of a fork; children must not meet them.
TEST_F(ForkTest, ChildrenReadThoughThreadsOfTheParentAreInCalls) {
  const VolumePtr volume = put_and_open();
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&] {
      while (!done) EXPECT_EQ(read(volume.get(), "many/9"), noise(3'000, 9));
    });
  }
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork_child([&] { return read(volume.get(), "many/8") == noise(3'000, 8); });
    EXPECT_TRUE(was_well(child)) << round;
  }
  done = true;
  for (std::thread& each : threads) each.join();
}

TEST_F(ForkTest, SeveralThreadsOfAChildOpenItOnce) {
  const VolumePtr volume = put_and_open();
  EXPECT_TRUE(was_well(fork_child([&] {
    std::atomic<int> whole = 0;
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; ++number) {
      threads.emplace_back([&] { whole += reads_all(volume.get()) ? 1 : 0; });
    }
    for (std::thread& each : threads) each.join();
    return whole == 4 && stored_.objects("s").size() == 2;
  })));
}

}  // namespace
}  // namespace runnel::library
