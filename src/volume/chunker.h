#pragma once

#include <cstddef>
#include <string_view>

namespace runnel::volume {

// Where files are cut, so that what is inserted into one moves no cut behind it: a rolling hash
// over the last 64 bytes says so (gear hash with normalised chunking: Xia et al., "FastCDC: a Fast
// and Efficient Content-Defined Chunking Approach for Data Deduplication", USENIX ATC 2016).
//
// A changed part of a file stores a chunk or two more than itself: with these sizes a megabyte some
// 150 KiB more, twice as large ones 300.
struct ChunkSizes {
  std::size_t least = 32 << 10;
  std::size_t usual = 64 << 10;  // A power of two.
  std::size_t most = 256 << 10;
};

// The length of the first chunk of `bytes`: all of them when they are at most `least`. Where the
// bytes are not the whole rest of the file, give at least `most`.
std::size_t first_chunk(std::string_view bytes, const ChunkSizes& sizes = {});

// Files up to this are one chunk.
inline constexpr std::size_t kWholeFileMax = 256 << 10;

}  // namespace runnel::volume
