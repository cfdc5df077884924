#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "writing/change.h"

namespace runnel::writing {

// Where bytes of a file are.
struct Source {
  enum class Kind : std::uint8_t { kBase, kZeros, kData };
  Kind kind = Kind::kBase;  // The base's: at the same offset of its file.
  DataPlace data;           // With kData.
  friend bool operator==(const Source&, const Source&) = default;
};

// A part of a file, all of one source.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  Source source;
  Sequence since = 0;  // The record that put it there.

  std::uint64_t end() const { return offset + length; }
};

// The bytes of a file that was changed: as programs see them, and as they were at the last commit,
// which is what a version gets. Both share what is the same; what is kept of the last commit is
// what was changed since.
//
// Cost: of a write the ranges that it covers, and the logarithm of all; of a commit what was
//       changed since the last one.
class Content {
 public:
  // Empty, and never committed.
  Content() = default;
  // That of the base's file.
  static Content of_base(std::uint64_t size);

  std::uint64_t size() const { return size_; }
  // Whether a version may have it.
  bool is_committed() const { return is_committed_; }
  bool has_uncommitted() const { return !before_.empty() || size_ != committed_size_; }
  // The record that committed it last; 0: the base's.
  Sequence committed_in() const { return committed_in_; }
  std::uint64_t committed_size() const { return committed_size_; }
  // Whether what was committed last is another than the base's.
  bool has_to_be_stored() const { return is_committed_ && committed_in_ != base_in_; }

  void write(std::uint64_t offset, std::uint64_t length, DataPlace place, Sequence by);
  void truncate(std::uint64_t size, Sequence by);
  void commit(Sequence by);
  // The base has from now on what was committed by this record.
  void become_base(Sequence committed_in);
  // Whether it is the base's, and nothing else.
  bool is_base() const { return is_committed_ && committed_in_ == base_in_ && !has_uncommitted(); }

  // What [from, until) has, in order and without a gap, cut at the end of the file.
  std::vector<Range> ranges(std::uint64_t from, std::uint64_t until) const;
  std::vector<Range> committed_ranges() const;
  // What was changed since the last commit, in order.
  std::vector<Range> uncommitted_ranges() const;
  // Adds the files that its bytes are in.
  void add_files(std::set<DataFile>& files) const;

 private:
  struct Piece {
    std::uint64_t length = 0;
    Source source;
    Sequence since = 0;
  };
  using Pieces = std::map<std::uint64_t, Piece>;  // By offset.

  static Range range_of(const Pieces::value_type& piece, std::uint64_t from, std::uint64_t until);
  static std::vector<Range> cut_out(const Pieces& pieces, std::uint64_t from, std::uint64_t until);
  static void split(Pieces& pieces, std::uint64_t at);
  static void become_base(Pieces& pieces, Sequence until);
  // Before [from, until) is changed.
  void keep_committed(std::uint64_t from, std::uint64_t until);
  void put(std::uint64_t offset, std::uint64_t length, Source source, Sequence by);

  Pieces now_;     // All of [0, size_).
  Pieces before_;  // Where the last commit has others than now_.
  std::uint64_t size_ = 0;
  std::uint64_t committed_size_ = 0;
  bool is_committed_ = false;
  Sequence committed_in_ = 0;
  Sequence base_in_ = 0;  // The commit that the base has.
};

}  // namespace runnel::writing
