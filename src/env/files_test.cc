#include "env/files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "env/remove_tree.h"
#include "env/testing/length_limit.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

class Files : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::vector<std::string> names() const { return MUST(list_directory(folder_.path())); }

  testing::TemporaryDirectory folder_;
};

TEST_F(Files, WhatIsWrittenIsRead) {
  const std::string text("binary \0 and \n newline", 22);
  MUST(write_file_atomically(file("a"), text));
  EXPECT_EQ(MUST(read_file(file("a"))), text);
  MUST(write_file_atomically(file("a"), ""));
  EXPECT_EQ(MUST(read_file(file("a"))), "");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(Files, ReadingHasALimit) {
  MUST(write_file_atomically(file("a"), std::string(100, 'x')));
  EXPECT_EQ(MUST(read_file(file("a"), Bytes::count(100))).size(), 100U);
  const Error error = read_file(file("a"), Bytes::count(99)).error();
  EXPECT_EQ(error.code, Errc::kFull);
  EXPECT_NE(error.message.find("99 B"), std::string::npos);
}

TEST_F(Files, ReadsFilesThatClaimToBeEmpty) {
  EXPECT_NE(MUST(read_file("/proc/self/status")).find("Name:"), std::string::npos);
  EXPECT_GT(MUST(read_file("/proc/self/mountinfo")).size(), 100U);
}

TEST_F(Files, NeverWaitForAPipeAndReadNoDevice) {
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  const Error error = read_file(file("pipe")).error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_EQ(error.message, file("pipe") + " is a pipe, not a regular file");
  EXPECT_EQ(copy_file(file("pipe"), file("copy")).error().code, Errc::kInvalid);
  EXPECT_EQ(rewrite_file(file("pipe")).error().code, Errc::kInvalid);
  EXPECT_EQ(read_file("/dev/zero").error().message, "/dev/zero is a device, not a regular file");
  EXPECT_EQ(read_file(folder_.path()).error().message,
            folder_.path() + " is a folder, not a regular file");
}

TEST_F(Files, ErrorsNameThePath) {
  const Error error = read_file(file("absent")).error();
  EXPECT_EQ(error.code, Errc::kNotFound);
  EXPECT_EQ(error.message, "open " + file("absent") + ": No such file or directory");
  EXPECT_FALSE(read_file(folder_.path()).ok());
  EXPECT_FALSE(list_directory(file("absent")).ok());
  EXPECT_FALSE(write_file_atomically(file("absent/b"), "x").ok());
}

TEST_F(Files, OwnerAccessHidesFromOthers) {
  MUST(write_file_atomically(file("secret"), "x", Access::kOwner));
  MUST(make_directories(file("private/inner"), Access::kOwner));
  struct stat info{};
  ASSERT_EQ(::stat(file("secret").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat(file("private/inner").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
}

TEST_F(Files, AFailedReplacementLeavesTheOldFile) {
  MUST(make_directories(file("target/inside")));
  EXPECT_FALSE(write_file_atomically(file("target"), "x").ok());
  EXPECT_EQ(names(), std::vector<std::string>{"target"});  // No temporary is left.
}

TEST_F(Files, AFullDiskLeavesTheOldFile) {
  MUST(write_file_atomically(file("a"), "old"));
  // A file size limit refuses the write half way, as a full disk does.
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{4096, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Result<void> written = write_file_atomically(file("a"), std::string(100'000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, previous);
  EXPECT_FALSE(written.ok());
  EXPECT_EQ(MUST(read_file(file("a"))), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(Files, ReadersSeeTheOldOrTheNewFileNeverAHalf) {
  const std::string a(50'000, 'a');
  const std::string b(50'000, 'b');
  MUST(write_file_atomically(file("x"), a));
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) MUST(write_file_atomically(file("x"), i % 2 == 0 ? b : a));
    done = true;
  });
  while (!done) {
    const std::string text = MUST(read_file(file("x")));
    if (text != a && text != b) ADD_FAILURE() << "a half of " << text.size() << " bytes";
  }
  writer.join();
}

TEST_F(Files, KeepsNothingOfALineThatTheDiskDoesNotTakeWhole) {
  MUST(append_file(file("log"), "first\n"));
  const testing::LengthLimit full(Bytes::count(10));
  EXPECT_FALSE(append_file(file("log"), "second\n").ok());
  EXPECT_EQ(MUST(read_file(file("log"))), "first\n");
}

TEST_F(Files, AppendsToTheEnd) {
  MUST(append_file(file("log"), "a\n"));
  MUST(append_file(file("log"), "b\n"));
  EXPECT_EQ(MUST(read_file(file("log"))), "a\nb\n");
}

TEST_F(Files, CopiesOnlyToANewFile) {
  MUST(write_file_atomically(file("a"), std::string(200'000, 'x')));
  MUST(copy_file(file("a"), file("b")));
  EXPECT_EQ(MUST(read_file(file("b"))).size(), 200'000U);
  EXPECT_EQ(copy_file(file("a"), file("b")).error().code, Errc::kConflict);
  EXPECT_EQ(copy_file(file("absent"), file("c")).error().code, Errc::kNotFound);
}

TEST_F(Files, AFileWrittenOverItselfStaysAsItIs) {
  std::string text;
  for (int line = 0; text.size() < 200'000; ++line) text += std::to_string(line) + "\n";
  MUST(write_file_atomically(file("a"), text));
  MUST(rewrite_file(file("a")));
  EXPECT_EQ(MUST(read_file(file("a"))), text);
  MUST(rewrite_file(file("nowhere")));
  EXPECT_FALSE(exists(file("nowhere")));
}

TEST_F(Files, AFileIsNotWrittenOverItselfThroughALink) {
  MUST(write_file_atomically(file("a"), "text"));
  ASSERT_EQ(::symlink(file("a").c_str(), file("link").c_str()), 0);
  EXPECT_FALSE(rewrite_file(file("link")).ok());
}

TEST_F(Files, ListsNamesInOrder) {
  for (const char* name : {"b", "a", "C"}) MUST(append_file(file(name), ""));
  EXPECT_EQ(names(), (std::vector<std::string>{"C", "a", "b"}));
}

TEST_F(Files, MakesAndRemovesTrees) {
  MUST(make_directories(file("a/b/c")));
  MUST(make_directories(file("a/b/c")));
  MUST(append_file(file("a/b/f"), "x"));
  MUST(append_file(file("kept"), "x"));
  ASSERT_EQ(::symlink(file("kept").c_str(), file("a/link").c_str()), 0);
  EXPECT_EQ(make_directories(file("a/b/f")).error().code, Errc::kConflict);
  EXPECT_FALSE(make_directories(file("a/b/f/g")).ok());
  MUST(remove_tree(file("a")));
  MUST(remove_tree(file("a")));
  EXPECT_EQ(names(), std::vector<std::string>{"kept"});
  MUST(remove_file(file("kept")));
  MUST(remove_file(file("kept")));
  EXPECT_FALSE(exists(file("kept")));
}

TEST_F(Files, TellsWhatAPathIs) {
  MUST(append_file(file("a"), "12345"));
  ASSERT_EQ(::symlink("nowhere", file("link").c_str()), 0);
  EXPECT_EQ(MUST(file_info(file("a"))).kind, FileKind::kFile);
  EXPECT_EQ(MUST(file_info(file("a"))).size, Bytes::count(5));
  EXPECT_GT(MUST(file_info(file("a"))).modified, Time::from_millis(1'600'000'000'000));
  EXPECT_EQ(MUST(file_info(folder_.path())).kind, FileKind::kDirectory);
  EXPECT_EQ(MUST(file_info(file("link"))).kind, FileKind::kLink);
  EXPECT_EQ(MUST(file_info("/dev/null")).kind, FileKind::kOther);
  EXPECT_TRUE(exists(file("link")));
  EXPECT_FALSE(exists(file("absent")));
}

TEST(ParentOf, FollowsTheRulesOfDirname) {
  EXPECT_EQ(parent_of("a/b/c"), "a/b");
  EXPECT_EQ(parent_of("/a"), "/");
  EXPECT_EQ(parent_of("/"), "/");
  EXPECT_EQ(parent_of("//"), "/");
  EXPECT_EQ(parent_of("a"), ".");
  EXPECT_EQ(parent_of(""), ".");
  EXPECT_EQ(parent_of("a/b/"), "a");
  EXPECT_EQ(parent_of("a//b"), "a");
  EXPECT_EQ(parent_of("//a"), "/");
}

TEST_F(Files, RenamesOverWhatIsThere) {
  MUST(append_file(file("a"), "new"));
  MUST(append_file(file("b"), "old"));
  MUST(rename_file(file("a"), file("b")));
  EXPECT_EQ(MUST(read_file(file("b"))), "new");
  EXPECT_EQ(names(), std::vector<std::string>{"b"});
  const Error error = rename_file(file("absent"), file("c")).error();
  EXPECT_EQ(error.code, Errc::kNotFound);
  EXPECT_NE(error.message.find(file("absent") + " to " + file("c")), std::string::npos);
}

TEST_F(Files, ReplacingKeepsReadersOfTheOldFile) {
  MUST(write_file_atomically(file("a"), "old"));
  const int reader = ::open(file("a").c_str(), O_RDONLY);
  MUST(write_file_atomically(file("a"), "new"));
  std::array<char, 4> text{};
  EXPECT_EQ(::read(reader, text.data(), text.size()), 3);
  EXPECT_STREQ(text.data(), "old");
  ::close(reader);
}

TEST_F(Files, WritesEverySizeAndReadsItBack) {
  for (const std::size_t size : {0U, 1U, 4095U, 4096U, 4097U, 100'000U}) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31);
    MUST(write_file_atomically(file("a"), text));
    ASSERT_EQ(MUST(read_file(file("a"))), text) << size;
    ASSERT_EQ(MUST(file_info(file("a"))).size, Bytes::count(static_cast<std::int64_t>(size)));
  }
}

TEST_F(Files, ManyWritersOfOneFileLeaveOneOfTheirTexts) {
  std::vector<std::thread> writers;
  for (char name = 'a'; name < 'e'; ++name) {
    writers.emplace_back([this, name] {
      for (int i = 0; i < 5; ++i) {
        MUST(write_file_atomically(file("x"), std::string(10'000, name)));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string text = MUST(read_file(file("x")));
  EXPECT_EQ(text, std::string(10'000, text[0]));
  EXPECT_EQ(names(), std::vector<std::string>{"x"});
}

TEST_F(Files, ManyMakersOfOneFolderAllSucceed) {
  std::vector<std::thread> makers;
  for (int i = 0; i < 4; ++i) {
    makers.emplace_back([this] { MUST(make_directories(file("a/b/c/d/e"))); });
  }
  for (std::thread& maker : makers) maker.join();
  EXPECT_TRUE(exists(file("a/b/c/d/e")));
}

TEST_F(Files, RemovesWhatOthersLeftOfAFile) {
  const std::string own = "a.tmp-" + std::to_string(::getpid()) + "-0";
  for (const std::string& name : {own, std::string("a.tmp-1-0"), std::string("ab.tmp-1-0")}) {
    MUST(append_file(file(name), "x"));
  }
  remove_left_temporaries(file("a"));
  EXPECT_TRUE(exists(file(own)));
  EXPECT_FALSE(exists(file("a.tmp-1-0")));
  EXPECT_TRUE(exists(file("ab.tmp-1-0")));
  remove_left_temporaries(file("none/a"));
}

TEST_F(Files, TellsItsOwnTemporariesFromThoseOfOthers) {
  const std::string pid = std::to_string(::getpid());
  EXPECT_TRUE(is_own_temporary("a.tmp-" + pid + "-0"));
  EXPECT_FALSE(is_own_temporary("a.tmp-" + pid + "1-0"));
  EXPECT_FALSE(is_own_temporary("a.tmp-1" + pid + "-0"));
  EXPECT_FALSE(is_own_temporary("a"));
}

TEST_F(Files, TakesATemporaryOfAnEmptyNameForNoOther) {
  EXPECT_TRUE(is_temporary_of("", ".tmp-1-2"));
  EXPECT_FALSE(is_temporary_of("", "a.tmp-1-2"));
  EXPECT_FALSE(is_temporary_of("", ""));
  EXPECT_FALSE(is_temporary_of("a", ""));
}

TEST_F(Files, TakesASignForNoNumberInATemporary) {
  EXPECT_FALSE(is_temporary_of("a", "a.tmp-+1-2"));
  EXPECT_FALSE(is_temporary_of("a", "a.tmp-1-+2"));
  EXPECT_FALSE(is_temporary_of("a", "a.tmp-1- 2"));
  EXPECT_FALSE(is_temporary_of("a", "a.tmp-0x1-2"));
  EXPECT_FALSE(is_temporary_of("a", "a.TMP-1-2"));
}

TEST_F(Files, KnowsItsOwnTemporaries) {
  for (const char* name : {"a.tmp-17-0", "a.tmp-1-23"}) {
    EXPECT_TRUE(is_temporary_of("a", name)) << name;
    EXPECT_FALSE(is_temporary_of("b", name)) << name;
    EXPECT_FALSE(is_temporary_of("a.tmp", name)) << name;
  }
  for (const char* name : {"a", "a.tmp", "a.tmp-", "a.tmp-17", "a.tmp-17-", "a.tmp--0", "a.tmp-x-0",
                           "a.tmp-17-0~", "a.tmp-17-0-1", "b.a.tmp-17-0"}) {
    EXPECT_FALSE(is_temporary_of("a", name)) << name;
  }
}

TEST_F(Files, TemporaryFoldersArePrivateAndDistinct) {
  const std::string first = MUST(make_temporary_directory("runnel-test-"));
  const std::string second = MUST(make_temporary_directory("runnel-test-"));
  EXPECT_NE(first, second);
  struct stat info{};
  ASSERT_EQ(::stat(first.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  MUST(remove_tree(first));
  MUST(remove_tree(second));
}

TEST_F(Files, RemovingIsOfTheNamedThingOnly) {
  MUST(make_directories(file("folder")));
  EXPECT_FALSE(remove_file(file("folder")).ok());
  MUST(append_file(file("one"), "x"));
  MUST(remove_tree(file("one")));
  EXPECT_FALSE(exists(file("one")));
  EXPECT_TRUE(exists(file("folder")));
}

TEST_F(Files, RemovingATreeFollowsNoLink) {
  MUST(make_directories(file("elsewhere/empty")));
  MUST(make_directories(file("tree")));
  ASSERT_EQ(::symlink(file("elsewhere").c_str(), file("tree/link").c_str()), 0);
  MUST(remove_tree(file("tree")));
  EXPECT_TRUE(exists(file("elsewhere/empty")));
}

TEST_F(Files, CopyingATreeKeepsLinksAndNeedsAFreeName) {
  MUST(make_directories(file("tree/deep")));
  MUST(append_file(file("tree/deep/a"), "x"));
  ASSERT_EQ(::symlink("deep/a", file("tree/link").c_str()), 0);
  ASSERT_EQ(::mkfifo(file("tree/deep/pipe").c_str(), 0600), 0);
  MUST(copy_tree(file("tree"), file("copy")));
  EXPECT_FALSE(exists(file("copy/deep/pipe"))) << "it holds nothing";
  EXPECT_FALSE(copy_tree(file("tree"), file("copy")).ok());
  EXPECT_EQ(MUST(read_file(file("copy/deep/a"))), "x");
  EXPECT_EQ(MUST(file_info(file("copy/link"))).kind, FileKind::kLink);
  MUST(copy_tree(file("tree/"), file("again")));
  EXPECT_EQ(MUST(read_file(file("again/deep/a"))), "x") << "however its name ends";
  EXPECT_FALSE(copy_tree(file("absent"), file("other")).ok());
  EXPECT_FALSE(exists(file("other")));
}

TEST_F(Files, ExchangedNamesHoldEachOthersContent) {
  MUST(make_directories(file("one")));
  MUST(append_file(file("one/a"), "x"));
  MUST(append_file(file("other"), "y"));
  MUST(exchange_files(file("one"), file("other")));
  EXPECT_EQ(MUST(read_file(file("one"))), "y");
  EXPECT_EQ(MUST(read_file(file("other/a"))), "x");
  EXPECT_EQ(exchange_files(file("one"), file("absent")).error().code, Errc::kNotFound);
  EXPECT_TRUE(exists(file("one")));
}

TEST_F(Files, ARealPathHasNoLinks) {
  MUST(make_directories(file("there")));
  ASSERT_EQ(::symlink(file("there").c_str(), file("link").c_str()), 0);
  EXPECT_EQ(MUST(real_path(file("link/../link"))), MUST(real_path(file("there"))));
  EXPECT_EQ(real_path(file("absent")).error().code, Errc::kNotFound);
}

TEST_F(Files, TellsWhoMayDoWhatAndChangesIt) {
  MUST(write_file_atomically(file("mine"), "x", Access::kOwner));
  EXPECT_EQ(MUST(file_info(file("mine"))).mode, 0600U);
  EXPECT_TRUE(MUST(file_info(file("mine"))).own);
  EXPECT_EQ(MUST(file_info("/")).own, ::geteuid() == 0);
  MUST(set_mode(file("mine"), 01644));
  EXPECT_EQ(MUST(file_info(file("mine"))).mode, 01644U);
  EXPECT_EQ(set_mode(file("none"), 0600).error().code, Errc::kNotFound);
}

TEST_F(Files, SyncingNeedsAFolder) {
  MUST(sync_directory(folder_.path()));
  MUST(append_file(file("a"), "x"));
  EXPECT_FALSE(sync_directory(file("a")).ok());
  EXPECT_EQ(sync_directory(file("absent")).error().code, Errc::kNotFound);
}

// Where the file system tells nothing all times are 0.
TEST_F(Files, AFolderWasMadeOnce) {
  MUST(make_directories(file("a")));
  const std::int64_t before = MUST(birth_time(file("a")));
  MUST(append_file(file("a/x"), "x"));
  MUST(rename_file(file("a"), file("b")));
  EXPECT_EQ(MUST(birth_time(file("b"))), before);
  ::usleep(50'000);  // A file system's clock ticks slower than ours.
  MUST(make_directories(file("a")));
  EXPECT_EQ(MUST(birth_time(file("a"))) > before, before != 0);
  EXPECT_EQ(birth_time(file("absent")).error().code, Errc::kNotFound);
}

TEST_F(Files, AFolderIsTheSameUnderAnotherNameAndACopyIsNot) {
  MUST(make_directories(file("a")));
  MUST(append_file(file("a/x"), "x"));
  const FileId before = MUST(file_id(file("a")));
  MUST(copy_tree(file("a"), file("copy")));
  EXPECT_NE(MUST(file_id(file("copy"))), before);
  MUST(rename_file(file("a"), file("b")));
  EXPECT_EQ(MUST(file_id(file("b"))), before);
  ASSERT_EQ(::symlink(file("b").c_str(), file("link").c_str()), 0);
  EXPECT_EQ(MUST(file_id(file("link"))), before) << "whichever way leads to it";
  EXPECT_EQ(file_id(file("a")).error().code, Errc::kNotFound);
}

using FilesDeathTest = Files;

TEST_F(FilesDeathTest, MisuseIsOurBug) {
  EXPECT_DEATH((void)read_file(file("a"), Bytes::count(-1)), "not negative");
  EXPECT_DEATH((void)rename_file(file("a"), file("a")), "another name");
  EXPECT_DEATH((void)make_temporary_directory("a/b"), "part of one name");
}

TEST(MayWriteIn, AFolderOfOnesOwn) {
  const std::string folder = MUST(make_temporary_directory("may-write-"));
  EXPECT_TRUE(may_write_in(folder).ok());
  MUST(remove_tree(folder));
  EXPECT_EQ(may_write_in(folder).error().code, Errc::kNotFound);
}

TEST(MayWriteIn, NothingThatIsNoFolder) {
  const std::string folder = MUST(make_temporary_directory("may-write-"));
  const std::string file = folder + "/file";
  MUST(write_file_atomically(file, "text"));
  MUST(set_mode(file, 0600));
  const Result<void> refused = may_write_in(file);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("write in " + file), std::string::npos);
  MUST(remove_tree(folder));
}

}  // namespace
}  // namespace runnel::env
