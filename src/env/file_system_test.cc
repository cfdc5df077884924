#include "env/file_system.h"

#include <gtest/gtest.h>

namespace runnel::env {
namespace {

constexpr std::string_view kMounts =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "25 22 0:40 / /home rw,relatime shared:2 master:1 - nfs4 server:/home rw,vers=4.2\n"
    "26 25 0:41 / /home/scratch rw - xfs /dev/sdb rw\n"
    "27 22 0:42 / /mnt/with\\040space rw - fuse.sshfs me@host: rw\n"
    "28 22 0:43 / /lustre rw - lustre mgs@tcp:/fs rw\n"
    "29 22 0:44 / /twice rw - nfs server:/x rw\n"
    "30 22 0:45 / /twice rw - tmpfs tmpfs rw\n"
    "not a mount line\n"
    "31 22 0:46 / /windows rw - cifs //server/share rw\n";

FileSystem of(std::string_view path) { return file_system_in(kMounts, path); }

TEST(FileSystem, IsThatOfTheLongestMountPoint) {
  EXPECT_EQ(of("/var/lib"), (FileSystem{"ext4", Locality::kLocal}));
  EXPECT_EQ(of("/"), (FileSystem{"ext4", Locality::kLocal}));
  EXPECT_EQ(of("/home"), (FileSystem{"nfs4", Locality::kNetwork}));
  EXPECT_EQ(of("/home/me/.runnel"), (FileSystem{"nfs4", Locality::kNetwork}));
  EXPECT_EQ(of("/home/scratch/x"), (FileSystem{"xfs", Locality::kLocal}));
  EXPECT_EQ(of("/homeless"), (FileSystem{"ext4", Locality::kLocal}));
}

TEST(FileSystem, NetworkOnesAreKnownByName) {
  EXPECT_EQ(of("/mnt/with space/a"), (FileSystem{"fuse.sshfs", Locality::kNetwork}));
  EXPECT_EQ(of("/lustre/me").locality, Locality::kNetwork);
  EXPECT_EQ(of("/windows").locality, Locality::kNetwork);
}

TEST(FileSystem, TheLaterOfTwoMountsCounts) {
  EXPECT_EQ(of("/twice/a"), (FileSystem{"tmpfs", Locality::kLocal}));
}

TEST(FileSystem, OfAPathThatDoesNotExistYet) {
  const FileSystem root = MUST(file_system_of("/"));
  EXPECT_FALSE(root.name.empty());
  EXPECT_EQ(MUST(file_system_of("/no/such/folder/at/all")), root);
  EXPECT_EQ(MUST(file_system_of("/proc/self")).name, "proc");
  EXPECT_FALSE(MUST(file_system_of("relative/path")).name.empty());
}

TEST(FreeSpace, IsKnownForWhatExists) {
  EXPECT_GT(MUST(free_space("/tmp")), Bytes());
  EXPECT_EQ(free_space("/no/such").error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace runnel::env
