// Reads a long file: usage
//
//   long_reader FILE sequential PART           from its beginning to its end
//   long_reader FILE random LENGTH COUNT       blocks at random
//   long_reader FILE handles LENGTH COUNT S    blocks at random by COUNT open files, for S seconds
//
// Prints seconds, bytes, and a sum of what was read.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "block_sums.h"

namespace {

using namespace runnel;         // NOLINT: a bench is a leaf.
using namespace runnel::bench;  // NOLINT
using SteadyClock = std::chrono::steady_clock;

std::uint64_t number(const char* text) { return std::strtoull(text, nullptr, 10); }

int open_file(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    std::perror(path);
    std::exit(1);
  }
  return file;
}

std::string_view read_at(int file, std::uint64_t offset, std::vector<char>& buffer) {
  const ssize_t got = ::pread(file, buffer.data(), buffer.size(), static_cast<off_t>(offset));
  if (got < 0) {
    std::perror("read");
    std::exit(1);
  }
  return {buffer.data(), static_cast<std::size_t>(got)};
}

std::uint64_t size_of(int file) {
  struct stat seen{};
  CHECK(::fstat(file, &seen) == 0, "an open file has a size");
  return static_cast<std::uint64_t>(seen.st_size);
}

BlockSums read_in_sequence(int file, std::uint64_t part) {
  BlockSums sums;
  std::vector<char> buffer(part);
  for (std::uint64_t offset = 0;;) {
    const std::string_view got = read_at(file, offset, buffer);
    if (got.empty()) return sums;
    sums.add(offset, got);
    offset += got.size();
  }
}

BlockSums read_at_random(int file, std::uint64_t length, std::uint64_t count) {
  BlockSums sums;
  RandomPlaces places(size_of(file), length);
  std::vector<char> buffer(length);
  for (std::uint64_t read = 0; read < count; ++read) {
    const std::uint64_t offset = places.next();
    sums.add(offset, read_at(file, offset, buffer));
  }
  return sums;
}

BlockSums read_by_many(const char* path, std::uint64_t length, std::uint64_t count,
                       std::uint64_t seconds) {
  std::vector<int> files(count);
  for (int& file : files) file = open_file(path);
  BlockSums sums;
  RandomPlaces places(size_of(files.front()), length);
  std::vector<char> buffer(length);
  const auto end = SteadyClock::now() + std::chrono::seconds(seconds);
  for (std::size_t read = 0; SteadyClock::now() < end; ++read) {
    const std::uint64_t offset = places.next();
    sums.add(offset, read_at(files[read % files.size()], offset, buffer));
  }
  return sums;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 3 ? argv[2] : "";
  const auto begin = SteadyClock::now();
  BlockSums sums;
  if (how == "sequential") {
    sums = read_in_sequence(open_file(argv[1]), number(argv[3]));
  } else if (how == "random" && argc > 4) {
    sums = read_at_random(open_file(argv[1]), number(argv[3]), number(argv[4]));
  } else if (how == "handles" && argc > 5) {
    sums = read_by_many(argv[1], number(argv[3]), number(argv[4]), number(argv[5]));
  } else {
    std::fprintf(stderr, "usage: long_reader FILE sequential|random|handles LENGTH [COUNT [S]]\n");
    return 2;
  }
  const std::chrono::duration<double> took = SteadyClock::now() - begin;
  std::printf("%.6f %" PRIu64 " %016" PRIx64 "\n", took.count(), sums.bytes(), sums.sum());
  return 0;
}
