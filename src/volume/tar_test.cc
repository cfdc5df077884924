#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "volume/get.h"
#include "volume/tar_sink.h"
#include "volume/tar_source.h"
#include "volume/testing/memory_volume.h"

namespace runnel::volume {
namespace {

using testing::Contents;
using testing::MemoryVolume;

class TarTest : public ::testing::Test {
 protected:
  std::string file() const { return folder_.path() + "/out.tar"; }
  std::string bytes() const { return MUST(env::read_file(file(), Bytes::gibi(1))); }
  // Without a sync: a thousand of those take seconds.
  void write(const std::string& text) const {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << text;
  }

  // Names of all kinds, long and short files, links, times.
  void fill() {
    Contents files{{"a/b/c", "1"},
                   {"empty", ""},
                   {"none/", ""},
                   {"new\nline", "2"},
                   {"\xff\xfe", "3"},
                   {"e\xcc\x81 decomposed", "4"},
                   {"\xc3\xa9 composed", "5"},
                   {std::string(255, 'n'), "6"},
                   {"tree", "7"},
                   {"runnel-end.json", "8"}};
    files["deep/" + std::string(200, 'x') + "/" + std::string(200, 'y')] = "9";
    files["long"] = testing::noise(1'000'000, 1);
    data_.put(files);
    Edit root = Edit::folder();
    Node& link = root.entries["link"].node;
    link.kind = NodeKind::kLink;
    link.mode = 0777;
    link.target = "a/\xff/../b";
    Node& old = root.entries["old"].node;
    old.hash = hash::sha256("");
    old.mode = 01711;
    old.changed = -5;
    old.changed_nanos = 123'456'789;
    data_.run(data_.volume().publish(root, {}, 0, "all kinds"));
  }
  void dump() {
    const Manifest newest = data_.newest();
    DumpHeader header{"data", newest.version, newest.message, newest.tree, newest.totals};
    const auto sink = MUST(TarSink::open_dump(*data_.loop(), file(), header));
    data_.run(get_into(*data_.loop(), data_.volume(), "latest", "", *sink, {}, {}));
  }
  void export_tar() {
    const auto sink = MUST(TarSink::open(*data_.loop(), file(), ""));
    data_.run(get_into(*data_.loop(), data_.volume(), "latest", "", *sink, {}, {}));
  }
  Result<PutResult> load(MemoryVolume& to) {
    auto source = std::make_unique<DumpSource>(TRY(TarReader::open(file())));
    TRY(source->read_header());
    return to.try_run(put_from(*to.loop(), to.volume(), std::move(source), {}, {}));
  }
  Result<PutResult> import(MemoryVolume& to) {
    auto source = std::make_unique<TarSource>(TRY(TarReader::open(file())));
    return to.try_run(put_from(*to.loop(), to.volume(), std::move(source), {}, {}));
  }

  env::testing::TemporaryDirectory folder_;
  MemoryVolume data_;
};

TEST_F(TarTest, ADumpLoadsAsTheSameTree) {
  fill();
  dump();
  MemoryVolume other(data_.loop());
  const PutResult loaded = MUST(load(other));
  EXPECT_EQ(loaded.manifest.tree, data_.newest().tree);
  EXPECT_TRUE(other.contents() == data_.contents());
  EXPECT_EQ(other.node("old").changed, -5);
  EXPECT_EQ(other.node("old").changed_nanos, 123'456'789U);
  EXPECT_EQ(other.node("old").mode, 01711U);
  EXPECT_EQ(other.node("link").target, "a/\xff/../b");
}

// Its hash is of the modes as they are.
TEST_F(TarTest, ADumpKeepsEachBitOfAMode) {
  Edit root = Edit::folder();
  root.entries["old"].node.hash = hash::sha256("");
  root.entries["old"].node.mode = 04711;
  data_.run(data_.volume().publish(root, {}, 0, ""));
  dump();
  MemoryVolume other(data_.loop());
  EXPECT_EQ(MUST(load(other)).manifest.tree, data_.newest().tree);
  EXPECT_EQ(other.node("old").mode, 04711U);
}

TEST_F(TarTest, AnExportedTarImportsAsTheSameTree) {
  fill();
  export_tar();
  MemoryVolume other(data_.loop());
  EXPECT_EQ(MUST(import(other)).manifest.tree, data_.newest().tree);
}

TEST_F(TarTest, WhatIsCutPublishesNothing) {
  data_.put({{"a", "1"}, {"sub/b", std::string(5'000, '2')}, {"c", ""}});
  dump();
  const std::string whole = bytes();
  for (std::size_t size = 0; size < whole.size() - 1'024; size += 256) {
    write(whole.substr(0, size));
    MemoryVolume other(data_.loop());
    const Result<PutResult> loaded = load(other);
    ASSERT_FALSE(loaded.ok()) << size;
    EXPECT_NE(loaded.error().to_string().find(file()), std::string::npos) << "it is named";
    EXPECT_TRUE(other.volume().head().recent.empty()) << size;
    EXPECT_EQ(other.objects("s/"), 0) << size;
  }
}

TEST_F(TarTest, AnImportOfACutTarPublishesNothing) {
  data_.put({{"a", "1"}, {"sub/b", std::string(5'000, '2')}, {"c", ""}});
  export_tar();
  const std::string whole = bytes();
  for (std::size_t size = 0; size < whole.size() - 1'024; size += 512) {
    write(whole.substr(0, size));
    MemoryVolume other(data_.loop());
    const Result<PutResult> imported = import(other);
    ASSERT_FALSE(imported.ok()) << size;
    EXPECT_EQ(imported.error().code, Errc::kCorrupt) << imported.error().to_string();
    EXPECT_TRUE(other.volume().head().recent.empty()) << size;
  }
}

TEST_F(TarTest, NoChangedByteOfADumpIsTakenForTheVersion) {
  data_.put({{"a", "1"}, {"sub/b", std::string(3'000, '2')}, {"new\nline", "3"}});
  dump();
  const std::string whole = bytes();
  const Node before = data_.node("sub/b");
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x21);
    write(changed);
    MemoryVolume other(data_.loop());
    const Result<PutResult> loaded = load(other);
    if (!loaded.ok()) {
      ++refused;
      EXPECT_TRUE(other.volume().head().recent.empty()) << at;
      continue;
    }
    // Padding, or what a volume does not keep.
    ASSERT_EQ(loaded->manifest.tree, data_.newest().tree) << at;
    EXPECT_EQ(other.node("sub/b").changed, before.changed) << at;
  }
  EXPECT_GT(refused, static_cast<int>(whole.size() / 7 / 4));
}

TEST_F(TarTest, ALaterFormatIsRefusedPolitely) {
  data_.put({{"a", "1"}});
  DumpHeader header{"data", data_.newest().version, "", data_.newest().tree, {}};
  std::string text = encode_dump_header(header);
  const std::size_t at = text.find("\"format\":1");
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, 10, "\"format\":2,\"what\":\"nobody knows\"");
  const Error error = decode_dump_header(text).error();
  EXPECT_EQ(error.code, Errc::kUnsupported);
  EXPECT_NE(error.hint.find("later"), std::string::npos);
  EXPECT_EQ(decode_dump_header("{}").error().code, Errc::kCorrupt);
  EXPECT_EQ(decode_dump_header("").error().code, Errc::kCorrupt);
}

TEST_F(TarTest, ATarThatIsNoDumpIsToldApart) {
  data_.put({{"a", "1"}});
  export_tar();
  MemoryVolume other(data_.loop());
  const Error error = load(other).error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_NE(error.hint.find("import"), std::string::npos);
  write("no tar at all");
  EXPECT_EQ(load(other).error().code, Errc::kCorrupt);
  EXPECT_EQ(TarReader::open(folder_.path() + "/none").error().code, Errc::kNotFound);
}

TEST_F(TarTest, OneFileStandsUnderItsName) {
  data_.put({{"a/b", "1"}});
  const auto sink = MUST(TarSink::open(*data_.loop(), file(), "b"));
  data_.run(get_into(*data_.loop(), data_.volume(), "latest", "a/b", *sink, {}, {}));
  MemoryVolume other(data_.loop());
  MUST(import(other));
  EXPECT_EQ(other.contents(), (Contents{{"b", "1"}}));
}

TEST_F(TarTest, AnOutputThatTakesNoMoreIsToldAtOnce) {
  std::size_t room = 3 << 20;
  std::string taken;
  const auto tar = MUST(TarWriter::open([&](std::string_view some) -> Result<void> {
    if (some.size() > room) return Error(Errc::kFull, "no room");
    room -= some.size();
    taken += some;
    return {};
  }));
  Node node;
  node.size = 10 << 20;
  MUST(tar->begin("a", node));
  Result<void> written;
  int appended = 0;
  for (; written.ok() && appended < 10; ++appended)
    written = tar->append(std::string(1 << 20, 'x'));
  EXPECT_EQ(written.error().code, Errc::kFull);
  EXPECT_LE(appended, 5);
  EXPECT_EQ(tar->finish().error().code, Errc::kFull);
  EXPECT_LE(taken.size(), 3U << 20);
}

// As `tar -cf /dev/null`.
TEST_F(TarTest, APipeIsWrittenToAndALinkIsFollowed) {
  data_.put({{"a", "1"}});
  const std::string pipe = folder_.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] {
    std::ifstream from(pipe);
    read.assign(std::istreambuf_iterator<char>(from), {});
  });
  {
    const auto sink = MUST(TarSink::open(*data_.loop(), pipe, ""));
    data_.run(get_into(*data_.loop(), data_.volume(), "latest", "", *sink, {}, {}));
  }
  reader.join();
  EXPECT_EQ(MUST(env::file_info(pipe)).kind, env::FileKind::kOther);
  const std::string link = folder_.path() + "/link";
  ASSERT_EQ(::symlink(file().c_str(), link.c_str()), 0);
  write("before");
  const auto sink = MUST(TarSink::open(*data_.loop(), link, ""));
  data_.run(get_into(*data_.loop(), data_.volume(), "latest", "", *sink, {}, {}));
  EXPECT_EQ(MUST(env::file_info(link)).kind, env::FileKind::kLink);
  EXPECT_TRUE(bytes() == read);
}

// Its end, which is no part of the tree, under the name of a link to itself.
TEST_F(TarTest, ADumpsLinkToItsOwnEndIsRefused) {
  data_.put({{"a", "1"}});
  dump();
  std::string tar = bytes();
  const std::size_t header = tar.rfind("runnel-end.json");
  ASSERT_EQ(header % 512, 0U);
  constexpr std::size_t kSum = 148;
  constexpr std::size_t kType = 156;
  constexpr std::size_t kLink = 157;
  tar.replace(header, 15, std::string("tree/x") + std::string(9, '\0'));
  tar[header + kType] = '1';
  tar.replace(header + kLink, 15, "runnel-end.json");
  tar.replace(header + kSum, 8, std::string(8, ' '));
  unsigned sum = 0;
  for (std::size_t at = header; at < header + 512; ++at) sum += static_cast<unsigned char>(tar[at]);
  std::array<char, 8> digits{};
  std::snprintf(digits.data(), digits.size(), "%06o", sum);
  tar.replace(header + kSum, 8, std::string(digits.data(), 7) + ' ');
  write(tar);
  MemoryVolume other(data_.loop());
  EXPECT_FALSE(load(other).ok());
}

TEST_F(TarTest, DamageInTheStoreLeavesNoFile) {
  data_.put({{"a", testing::noise(5'000, 1)}});
  for (auto& [key, object] : data_.store().objects()) {
    if (key.starts_with("data/p/")) object.bytes[2'000] ^= 1;
  }
  GetOptions options;
  options.passes_over = false;
  const auto sink = MUST(TarSink::open(*data_.loop(), file(), ""));
  const auto got =
      data_.try_run(get_into(*data_.loop(), data_.volume(), "latest", "", *sink, options, {}));
  EXPECT_EQ(got.error().code, Errc::kCorrupt);
  EXPECT_FALSE(env::exists(file()));
}

}  // namespace
}  // namespace runnel::volume
