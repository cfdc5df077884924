#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "volume/dump_format.h"
#include "volume/file_cutter.h"
#include "volume/put_source.h"
#include "volume/tar_reader.h"

namespace runnel::volume {

// A tar as a put reads it. Modes and times are kept, owners are not; a hard link becomes a file
// with the same chunks.
//
// Contract: the last of several entries of one name counts. kInvalid names a path that is absolute,
//           leads out by "..", or has a name of over 255 bytes or 8 KiB in all. Devices, pipes and
//           sockets are passed over.
class TarSource : public PutSource {
 public:
  explicit TarSource(std::unique_ptr<TarReader> reader) : reader_(std::move(reader)) {}

  Async<ReadBatch> next(async::Worker& worker) override;
  const std::vector<std::string>& passed_over() const override { return passed_over_; }
  std::optional<Node> root() const override { return root_; }

 protected:
  // What becomes of an entry before it is read; without a path it is not part of the tree.
  virtual Result<std::optional<std::vector<std::string>>> path_of(const TarEntry& entry);
  // What was read, in order: of a file with its size and hash.
  virtual void was_read(const ReadEntry&) {}
  // Whether set-user-ID and set-group-ID bits of files are kept, whose owners are not.
  virtual bool keeps_modes() const { return false; }
  // There is nothing more.
  virtual Result<void> ended() { return {}; }

  TarReader& reader() { return *reader_; }
  // Of a name that the tar has.
  Result<std::vector<std::string>> parts_of(const std::string& name) const;
  Error refused(Errc code, const std::string& why) const;

 private:
  // A file that is read part by part.
  struct LongFile {
    ReadEntry entry;
    FileCutter cutter;
  };

  Result<ReadBatch> read_batch();
  Result<void> take(ReadBatch& batch, const TarEntry& entry, std::vector<std::string> path);
  Result<void> take_file(ReadBatch& batch, ReadEntry entry, std::uint64_t size);
  Result<void> read_more(ReadBatch& batch);
  Result<void> take_link(ReadBatch& batch, ReadEntry entry, const TarEntry& tar);
  void add(ReadBatch& batch, ReadEntry entry);

  const std::unique_ptr<TarReader> reader_;
  std::optional<LongFile> long_;
  std::optional<Node> root_;  // What the tar says of "./".
  std::vector<std::string> passed_over_;
};

// A dump as a put into an empty volume reads it, docs/design/volume_format.md. An error names the
// dump, and nothing is published, unless all of it was there and every byte is what it says.
class DumpSource final : public TarSource {
 public:
  using TarSource::TarSource;

  // Reads the beginning; to be called first. kInvalid for a tar that is no dump, kUnsupported for a
  // later format.
  Result<DumpHeader> read_header();
  Result<void> check(const Edit& whole) const override;
  // The end's digest is of what is below the root, so a change of the root's own would not show.
  std::optional<Node> root() const override { return std::nullopt; }

 private:
  Result<std::optional<std::vector<std::string>>> path_of(const TarEntry& entry) override;
  void was_read(const ReadEntry& entry) override;
  bool keeps_modes() const override { return true; }  // The tree's hash has them.
  Result<void> ended() override;
  Result<std::string> read_text(const TarEntry& entry);

  DumpHeader header_;
  DumpDigest digest_;
  bool has_ended_ = false;
};

}  // namespace runnel::volume
