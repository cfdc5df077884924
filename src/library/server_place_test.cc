#include "library/server_place.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "home/home.h"

namespace runnel::library {
namespace {

TEST(CommandOf, IsBesideTheFolderOfTheLibrary) {
  const env::testing::TemporaryDirectory folder;
  for (const char* const name : {"lib", "bin"}) MUST(env::make_directories(folder.file(name)));
  const std::string command = folder.file("bin/runnel");
  EXPECT_FALSE(command_of(folder.file("lib/librunnel.so"))) << "there is none";
  MUST(env::write_file_atomically(command, "#!/bin/sh\n"));
  EXPECT_FALSE(command_of(folder.file("lib/librunnel.so"))) << "which nobody may run";
  ASSERT_EQ(::chmod(command.c_str(), 0755), 0);
  ASSERT_TRUE(command_of(folder.file("lib/librunnel.so")));
  EXPECT_EQ(MUST(env::file_id(*command_of(folder.file("lib/librunnel.so")))),
            MUST(env::file_id(command)));
  EXPECT_FALSE(command_of(folder.file("lib/another.so"))) << "a program that has the code inside";
  EXPECT_FALSE(command_of("librunnel.so")) << "which is in no folder";
  MUST(env::remove_file(command));
  EXPECT_FALSE(command_of(folder.file("lib/librunnel.so"))) << "it was removed";
}

TEST(MappedFile, IsTheOneAtTheAddress) {
  const std::string maps =
      "55d0c0000000-55d0c0001000 r--p 00000000 fd:00 131 /usr/bin/python3.11\n"
      "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n"
      "7f0000100000-7f0000200000 r-xp 00001000 fd:00 777   /opt/a b/lib/librunnel.so\n"
      "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n";
  EXPECT_EQ(mapped_file(maps, 0x7f0000100000), "/opt/a b/lib/librunnel.so");
  EXPECT_EQ(mapped_file(maps, 0x7f00001fffff), "/opt/a b/lib/librunnel.so");
  EXPECT_EQ(mapped_file(maps, 0x7f0000200000), "");
  EXPECT_EQ(mapped_file(maps, 0x7f0000000010), "") << "memory of no file";
  EXPECT_EQ(mapped_file("", 1), "");
  EXPECT_EQ(mapped_file("no line of the kernel's /lib\n", 1), "");
}

TEST(ServerPlace, AProgramThatHasTheCodeInsideStartsNone) {
  ASSERT_TRUE(home::find_home("").ok());
  EXPECT_FALSE(server_place());
}

}  // namespace
}  // namespace runnel::library
