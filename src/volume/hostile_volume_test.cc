#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/subprocess.h"
#include "env/testing/temporary_directory.h"
#include "volume/clone.h"
#include "volume/condemned.h"
#include "volume/file_reader.h"
#include "volume/folder_difference.h"
#include "volume/folder_sink.h"
#include "volume/fsck.h"
#include "volume/gc.h"
#include "volume/get.h"
#include "volume/object_sink.h"
#include "volume/pack_cache.h"
#include "volume/put.h"
#include "volume/rearrange.h"
#include "volume/tar_sink.h"
#include "volume/tar_source.h"
#include "volume/tar_writer.h"
#include "volume/testing/memory_volume.h"

// Volumes of people who mean harm, and files of whoever gets them.
namespace runnel::volume {
namespace {

using testing::MemoryVolume;

class HostileVolumeTest : public ::testing::Test {
 protected:
  Result<GetProgress> get(MemoryVolume& data) {
    return data.try_run(get_tree(*data.loop(), data.volume(), "latest", "", place("got"), {}, {}));
  }
  void publish(MemoryVolume& data, const std::string& name, std::uint32_t mode) {
    Edit root = Edit::folder();
    Node& file = root.entries[name].node;
    file.hash = hash::sha256("");
    file.mode = mode;
    data.run(data.volume().publish(root, {}, 0, ""));
  }
  Result<PutResult> import_folder(const std::string& path) {
    std::string bytes;
    auto tar = MUST(TarWriter::open([&bytes](std::string_view some) -> Result<void> {
      bytes += some;
      return {};
    }));
    Node folder;
    folder.kind = NodeKind::kFolder;
    MUST(tar->begin(path, folder));
    MUST(tar->finish());
    MUST(env::make_directories(place("")));
    MUST(env::write_file_atomically(place("folder.tar"), bytes));
    auto source = std::make_unique<TarSource>(MUST(TarReader::open(place("folder.tar"))));
    return data_.try_run(put_from(*data_.loop(), data_.volume(), std::move(source), {}, {}));
  }
  // Gives the root a name in a folder of it.
  void lead_in_a_circle(MemoryVolume& data, const std::string& folder, const std::string& name) {
    Volume& volume = data.volume();
    data.run(volume.begin_writing(session_of_this_process("put")));
    Snapshot newest = data.run(volume.snapshot("latest"));
    const Inode inode = data.run(newest.at(folder)).inode;
    BundleWriter writer(data.random());
    std::vector<Change> changes{
        {name_key(inode, name), encode_name({kRootInode, NodeKind::kFolder})}};
    Manifest manifest = newest.manifest();
    const Tree names = data.run(
        change(newest.pages(), writer, manifest.names, std::move(changes), kIndexPageBytes));
    for (NewObject& bundle : writer.finish()) {
      data.run(volume.put_object(bundle_key(bundle.id), std::move(bundle.bytes)));
    }
    manifest.names = writer.resolved(names);
    EXPECT_TRUE(data.run(volume.publish_manifest(manifest, volume.head().generation, true,
                                                 [] { return std::set<std::string>(); })));
    data.run(volume.end_session());
  }
  std::string place(const std::string& name) const { return folder_.path() + "/in/" + name; }
  std::uint32_t mode_of(const std::string& path) {
    struct stat seen{};
    EXPECT_EQ(::stat(path.c_str(), &seen), 0) << path;
    return seen.st_mode & 07777U;
  }

  env::testing::TemporaryDirectory folder_;
  MemoryVolume data_;
};

TEST_F(HostileVolumeTest, NoNameLeadsOutOfWhereFilesArePut) {
  MUST(env::make_directories(place("")));
  const std::string nul("a\0b", 3);
  for (const std::string& name : {std::string("../escaped"), std::string("/escaped"),
                                  std::string(".."), std::string("."), std::string("a/b"), nul}) {
    MemoryVolume data(data_.loop());
    publish(data, name, 0644);
    const Result<GetProgress> got = get(data);
    ASSERT_FALSE(got.ok()) << name;
    EXPECT_EQ(got.error().code, Errc::kCorrupt);
    EXPECT_FALSE(env::exists(place("escaped")));
    const FsckResult checked = data.run(check_volume(*data.loop(), data.volume(), {}, {}));
    ASSERT_FALSE(checked.damages.empty()) << name;
    EXPECT_NE(checked.damages[0].what.find("no file can have"), std::string::npos);
  }
}

TEST_F(HostileVolumeTest, AFolderThatIsInItselfEndsEachWalk) {
  data_.put({{"a/x", "1"}});
  lead_in_a_circle(data_, "a", "up");
  MUST(env::make_directories(place("")));
  EXPECT_EQ(get(data_).error().code, Errc::kCorrupt);
  EXPECT_FALSE(data_.run(check_volume(*data_.loop(), data_.volume(), {}, {})).damages.empty());
  const Result<Rearranged> copied =
      data_.try_run(copy_path(*data_.loop(), data_.volume(), "latest", "a", "b", "", {}));
  EXPECT_EQ(copied.error().code, Errc::kCorrupt);
  Edit root = Edit::folder();
  root.entries["a"].gone = true;
  EXPECT_EQ(data_.try_run(data_.volume().publish(root, {}, 0, "")).error().code, Errc::kCorrupt);
}

// Owners are not kept: it would be so for whoever gets it, as for root.
TEST_F(HostileVolumeTest, NoFileIsSetUserIdForWhoGetsIt) {
  MUST(env::make_directories(place("")));
  publish(data_, "tool", 06755);
  MUST(get(data_));
  EXPECT_EQ(mode_of(place("got/tool")), 0755U);
  Snapshot newest = data_.run(data_.volume().snapshot("latest"));
  const FolderDifference difference =
      data_.run(compare_folder(*data_.loop(), newest, kRootInode, place("got"), {}));
  EXPECT_TRUE(difference.missing.empty()) << "nothing is to be got again";
  const auto tar = MUST(TarSink::open(*data_.loop(), place("tool.tar"), ""));
  data_.run(get_into(*data_.loop(), data_.volume(), "latest", "", *tar, {}, {}));
  MemoryVolume other(data_.loop());
  auto source = std::make_unique<TarSource>(MUST(TarReader::open(place("tool.tar"))));
  other.run(put_from(*other.loop(), other.volume(), std::move(source), {}, {}));
  EXPECT_EQ(other.node("tool").mode, 0755U);
}

TEST_F(HostileVolumeTest, AnImportedTarHasNoSetUserId) {
  MUST(env::make_directories(place("source")));
  MUST(env::write_file_atomically(place("source/tool"), "x"));
  ASSERT_EQ(::chmod(place("source/tool").c_str(), 06711), 0);
  env::Subprocess tar;
  tar.argv = {"tar", "-cf", place("its.tar"), "-C", place("source"), "tool"};
  MUST(env::output_of(tar));
  auto source = std::make_unique<TarSource>(MUST(TarReader::open(place("its.tar"))));
  data_.run(put_from(*data_.loop(), data_.volume(), std::move(source), {}, {}));
  EXPECT_EQ(data_.node("tool").mode, 0711U);
}

// Each folder is a call within one before, for who walks a tree.
TEST_F(HostileVolumeTest, ATarOfAPathWithoutEndIsRefused) {
  std::string deep;
  for (int folder = 0; folder < 400'000; ++folder) deep += "d/";
  EXPECT_EQ(import_folder(deep).error().code, Errc::kInvalid);
  EXPECT_TRUE(import_folder(deep.substr(0, 8'000)).ok());
}

TEST_F(HostileVolumeTest, APutKeepsNoSetUserId) {
  MUST(env::make_directories(place("source")));
  MUST(env::write_file_atomically(place("source/tool"), "x"));
  ASSERT_EQ(::chmod(place("source/tool").c_str(), 04711), 0);
  data_.run(
      put_tree(*data_.loop(), data_.volume(), MUST(SourceTree::open(place("source"))), {}, {}));
  EXPECT_EQ(data_.node("tool").mode, 0711U);
}

// What a list of garbage names is deleted, with the keys of whoever collects it.
TEST_F(HostileVolumeTest, NoListOfGarbageLeadsOutOfTheVolume) {
  const std::string list = condemned_key("0123456789abcdef");
  for (const std::string& key : {std::string("../other/head"), std::string("p/../../other/head"),
                                 std::string("head"), std::string("s/0123456789abcdef")}) {
    MemoryVolume data(data_.loop());
    data.put({{"a", "1"}});
    data.store().objects()["other/head"] = {"another's", "1"};
    data.store().objects()["data/" + list] = {"runnel condemned 1\nkey " + key + "\nend\n", "2"};
    data.run(data.volume().change_head([&list](const Head& now) -> Result<Head> {
      Head next = now;
      next.condemned = list;
      next.collections = 1;
      return next;
    }));
    data.run(collect_garbage(*data.loop(), env::real_clock(), data.volume(), {}, {}));
    EXPECT_TRUE(data.store().objects().contains("other/head")) << key;
    EXPECT_EQ(data.content("a"), "1") << key;
  }
}

TEST_F(HostileVolumeTest, NoHeadLeadsOutOfTheVolume) {
  data_.put({{"a", "1"}});
  const Head whole = data_.volume().head();
  const auto refusal = [](const Head& head) { return decode_head(encode_head(head)).error().code; };
  ASSERT_TRUE(decode_head(encode_head(whole)).ok());
  Head head = whole;
  head.condemned = "../other/head";
  EXPECT_EQ(refusal(head), Errc::kCorrupt);
  head = whole;
  head.recent.front().key = "v/../../other/head";
  EXPECT_EQ(refusal(head), Errc::kCorrupt);
  head = whole;
  head.tags["best"] = {whole.newest()->version, "p/0123456789abcdef-0123456789abcdef", 1};
  EXPECT_EQ(refusal(head), Errc::kCorrupt);
  head = whole;
  head.clones["../other"] = {*whole.newest(), "nonce", true, true};
  EXPECT_EQ(refusal(head), Errc::kCorrupt);
}

// One that says two things of the same place of a pack.
TEST_F(HostileVolumeTest, AnIndexThatContradictsItselfGivesNoOtherBytes) {
  const std::string honest(100, 'a');
  data_.put({{"honest", honest}});
  Edit root = Edit::folder();
  Node& file = root.entries["other"].node;
  file = data_.node("honest");
  ASSERT_EQ(file.extents.size(), 1U);
  ASSERT_EQ(file.extents.front().codec, Codec::kZstd);
  file.extents.front().length = kChunkBytesMax;
  file.size = kChunkBytesMax;
  data_.run(data_.volume().publish(root, {}, 0, ""));
  Snapshot snapshot = data_.run(data_.volume().snapshot("latest"));
  PackCache cache(*data_.loop(), data_.volume().ranges(),
                  {.memory = std::make_shared<ReaderMemory>(64 << 20)}, {});
  {
    FileReader reader(snapshot, cache);
    const auto read = [&](const std::string& path, std::uint64_t offset) {
      const Inode inode = data_.run(snapshot.at(path)).inode;
      return data_.try_run(reader.read(inode, offset, 100));
    };
    EXPECT_EQ(MUST(read("honest", 0)).front().bytes, honest);
    EXPECT_EQ(read("other", 0).error().code, Errc::kCorrupt);
    EXPECT_EQ(read("other", 128 << 10).error().code, Errc::kCorrupt);
    EXPECT_EQ(MUST(read("honest", 0)).front().bytes, honest);
  }
  data_.run(cache.close());
}

// fsck is what looks at damaged volumes.
TEST_F(HostileVolumeTest, AHeadWithTagsAloneIsChecked) {
  data_.put({{"a", "1"}});
  data_.run(data_.volume().change_head([](const Head& now) -> Result<Head> {
    Head next = now;
    next.tags["best"] = *now.newest();
    next.recent.clear();
    next.manifest.clear();
    return next;
  }));
  for (const bool repair : {false, true}) {
    FsckOptions options;
    options.repair = repair;
    const FsckResult checked =
        data_.run(check_volume(*data_.loop(), data_.volume(), std::move(options), {}));
    EXPECT_EQ(checked.versions, 1) << repair;
    EXPECT_TRUE(checked.damages.empty()) << repair;
  }
}

// Whoever makes a new one in its place makes garbage of all that it had.
TEST_F(HostileVolumeTest, AVolumeWhoseHeadIsLostIsNotMadeAnew) {
  data_.put({{"a", "1"}});
  auto& objects = data_.store().objects();
  const object::Object head = objects.at("data/head");
  objects.erase("data/head");
  const VolumeContext context{data_.store(), env::real_clock(), data_.random(), {}};
  const Error lost = data_.try_run(Volume::open(context, "data")).error();
  EXPECT_EQ(lost.code, Errc::kCorrupt);
  EXPECT_NE(lost.message.find("is missing, and its versions are there"), std::string::npos);
  EXPECT_EQ(data_.try_run(Volume::create(context, "data")).error().code, Errc::kCorrupt);
  MemoryVolume origin(data_.loop());
  origin.put({{"b", "2"}});
  for (const auto& [key, object] : origin.store().objects()) {
    objects["origin" + key.substr(key.find('/'))] = object;
  }
  Volume other = data_.run(Volume::open(context, "origin"));
  EXPECT_EQ(data_.try_run(clone_volume(context, other, "latest", "data")).error().code,
            Errc::kCorrupt);
  objects["data/head"] = head;
  EXPECT_EQ(data_.content("a"), "1");
}

// Another user may write in the folder that is put, and waits for the moment.
TEST_F(HostileVolumeTest, APutReadsNothingBehindALinkThatComesMeanwhile) {
  MUST(env::make_directories(place("source/d")));
  MUST(env::make_directories(place("private")));
  MUST(env::write_file_atomically(place("private/id"), "secret"));
  MUST(env::write_file_atomically(place("source/d/id"), "mine"));
  MUST(env::write_file_atomically(place("source/d/aa"), std::string(40 << 20, 'a')));
  auto source = MUST(SourceTree::open(place("source")));
  ASSERT_FALSE(MUST(source->next()).is_last) << "aa is not whole yet";
  ASSERT_EQ(::rename(place("source/d").c_str(), place("source/away").c_str()), 0);
  ASSERT_EQ(::symlink(place("private").c_str(), place("source/d").c_str()), 0);
  Result<ReadBatch> batch = source->next();
  while (batch.ok() && !batch->is_last) batch = source->next();
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.error().code, Errc::kConflict);
  EXPECT_NE(batch.error().message.find("lies behind a link"), std::string::npos);
}

TEST_F(HostileVolumeTest, AGetChangesNothingBehindALinkThatComesMeanwhile) {
  MUST(env::make_directories(place("private")));
  ASSERT_EQ(::chmod(place("private").c_str(), 0700), 0);
  const auto sink = MUST(FolderSink::open(*data_.loop(), place("got"), FolderSink::Same::kNever));
  const auto entry = [](const std::string& path, NodeKind kind) {
    std::vector<SinkEntry> entries(1);
    entries[0].path = path;
    entries[0].node.kind = kind;
    entries[0].node.mode = 0755;
    return entries;
  };
  data_.run(sink->take(entry("", NodeKind::kFolder)));
  data_.run(sink->take(entry("d", NodeKind::kFolder)));
  ASSERT_EQ(::rename(place("got/d").c_str(), place("got/away").c_str()), 0);
  ASSERT_EQ(::symlink(place("private").c_str(), place("got/d").c_str()), 0);
  for (const NodeKind kind : {NodeKind::kFile, NodeKind::kFolder}) {
    EXPECT_EQ(data_.try_run(sink->take(entry("d/a", kind))).error().code, Errc::kConflict);
  }
  EXPECT_EQ(data_.try_run(sink->take(entry("d", NodeKind::kFolder))).error().code, Errc::kConflict);
  EXPECT_EQ(data_.try_run(sink->begin("d/long", Node())).error().code, Errc::kConflict);
  EXPECT_EQ(data_.try_run(sink->finish()).error().code, Errc::kConflict);
  data_.run(sink->close());
  EXPECT_EQ(mode_of(place("private")), 0700U);
  EXPECT_TRUE(MUST(env::list_directory(place("private"))).empty());
}

// An export to where the volume itself is.
TEST_F(HostileVolumeTest, NoFileTakesThePlaceOfAVolumesHead) {
  data_.put({{"head", "mine"}, {"data/head", "mine"}});
  const std::string head = data_.store().objects().at("data/head").bytes;
  ObjectSink objects(*data_.loop(), data_.store(), "", {});
  const auto exported =
      data_.try_run(get_into(*data_.loop(), data_.volume(), "latest", "", objects, {}, {}));
  EXPECT_EQ(exported.error().code, Errc::kConflict);
  EXPECT_EQ(data_.store().objects().at("data/head").bytes, head);
  MUST(env::make_directories(place("got/data")));
  MUST(env::write_file_atomically(place("got/data/head"), head));
  MUST(env::write_file_atomically(place("got/head"), "of nobody's volume"));
  EXPECT_EQ(get(data_).error().code, Errc::kConflict);
  EXPECT_EQ(MUST(env::read_file(place("got/data/head"))), head);
  MUST(env::remove_file(place("got/data/head")));
  MUST(get(data_));
  EXPECT_EQ(MUST(env::read_file(place("got/head"))), "mine");
}

}  // namespace
}  // namespace runnel::volume
