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

TEST(FileSystem, NoLineTellsOfAChroot) {
  EXPECT_EQ(file_system_in("27 22 0:42 / /proc rw - proc proc rw\n", "/root/.runnel").name, "");
}

TEST(FileSystem, IsKnownByNumberWhereNoLineTells) {
  EXPECT_EQ(file_system_of_number(0x6969), (FileSystem{"nfs", Locality::kNetwork}));
  EXPECT_EQ(file_system_of_number(0x0bd00bd0), (FileSystem{"lustre", Locality::kNetwork}));
  EXPECT_EQ(file_system_of_number(0xff534d42), (FileSystem{"cifs", Locality::kNetwork}));
  EXPECT_EQ(file_system_of_number(0xef53), (FileSystem{"ext4", Locality::kLocal}));
  EXPECT_EQ(file_system_of_number(0x19830326), (FileSystem{"beegfs", Locality::kNetwork}));
  EXPECT_EQ(file_system_of_number(0x6b414653), (FileSystem{"afs", Locality::kNetwork}));
  EXPECT_EQ(file_system_of_number(0x786f4256), (FileSystem{"vboxsf", Locality::kNetwork}));
  EXPECT_EQ(file_system_of_number(0x2fc12fc1), (FileSystem{"zfs", Locality::kLocal}));
}

TEST(FileSystem, WhatIsNotKnownIsNotTakenForLocal) {
  EXPECT_EQ(file_system_of_number(0x65735546), (FileSystem{"fuse", Locality::kUnknown}));
  EXPECT_EQ(file_system_of_number(0xbee), (FileSystem{"0xbee", Locality::kUnknown}));
  EXPECT_EQ(file_system_in("1 0 8:1 / /x rw - fuse f rw\n", "/x").locality, Locality::kUnknown);
}

TEST(FileSystem, OfAPathThatDoesNotExistYet) {
  const FileSystem root = MUST(file_system_of("/"));
  EXPECT_FALSE(root.name.empty());
  EXPECT_EQ(MUST(file_system_of("/no/such/folder/at/all")), root);
  EXPECT_EQ(MUST(file_system_of("/proc/self")).name, "proc");
  EXPECT_FALSE(MUST(file_system_of("relative/path")).name.empty());
}

TEST(AllSpace, HasTheFreeSpaceInIt) {
  EXPECT_GE(MUST(all_space("/tmp")), MUST(free_space("/tmp")));
  EXPECT_EQ(all_space("/no/such").error().code, Errc::kNotFound);
}

TEST(FreeSpace, IsKnownForWhatExists) {
  EXPECT_GT(MUST(free_space("/tmp")), Bytes());
  EXPECT_EQ(free_space("/no/such").error().code, Errc::kNotFound);
}

TEST(FreeInodes, AreKnownForWhatExists) {
  EXPECT_GT(MUST(free_inodes("/tmp")).value_or(1), 0);
  EXPECT_EQ(MUST(free_inodes("/proc")), std::nullopt) << "it counts none";
  EXPECT_EQ(free_inodes("/no/such").error().code, Errc::kNotFound);
}

// One line of mountinfo for a file system of this type at "/x".
std::string mounted(const std::string& type) {
  return "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:9 / /x rw,nosuid shared:7 - " + type +
         " source rw\n";
}

TEST(FileSystem, KnowsTheNetworkOnes) {
  for (const char* type : {"nfs", "nfs4", "lustre", "cifs", "smb3", "ceph", "beegfs", "gpfs", "9p",
                           "fuse.sshfs", "fuse.s3fs", "fuse.glusterfs", "fuse.juicefs", "wekafs"}) {
    EXPECT_EQ(file_system_in(mounted(type), "/x/y"), (FileSystem{type, Locality::kNetwork}))
        << type;
  }
}

TEST(FileSystem, KnowsTheLocalOnes) {
  for (const char* type : {"ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "f2fs", "ext2",
                           "bcachefs", "fuseblk", "fuse.fuse-overlayfs", "vfat"}) {
    EXPECT_EQ(file_system_in(mounted(type), "/x/y"), (FileSystem{type, Locality::kLocal})) << type;
  }
}

TEST(FileSystem, OfTextThatIsNoTableIsUnknownAndLocal) {
  for (const char* text :
       {"", "\n\n", "1 2 3", "a b c d e f g", "1 0 8:1 / / rw -", " - - - - - -"}) {
    EXPECT_EQ(file_system_in(text, "/x"), (FileSystem{"", Locality::kLocal})) << text;
  }
}

TEST(FileSystem, ReadsEscapesInMountPoints) {
  const std::string table =
      "1 0 8:1 / /a\\011b\\134c rw - nfs s rw\n2 0 8:1 / /d\\04 rw - nfs s rw\n";
  EXPECT_EQ(file_system_in(table, "/a\tb\\c/d").name, "nfs");
  EXPECT_EQ(file_system_in(table, "/d\\04").name, "nfs");
  EXPECT_EQ(file_system_in(table, "/a").name, "");
}

}  // namespace
}  // namespace runnel::env
