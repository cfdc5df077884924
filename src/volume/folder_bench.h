#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "env/clock.h"

namespace runnel::volume {

// One kind of reading, done twice in the same order: as the folder was found, and once more.
struct BenchRow {
  std::string name;  // "list", "small", "long", "random": for documents.
  std::string what;  // For people.
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t passed_over = 0;  // Files that could not be read.
  Duration first;
  Duration again;
};

struct BenchLimits {
  static constexpr std::int64_t kSmallMax = 128 << 10;  // Bytes of a small file.
  static constexpr std::int64_t kRandomBytes = 4 << 10;

  std::int64_t entries = 100'000;
  std::int64_t bytes = std::int64_t{1} << 30;  // Of long files.
  std::int64_t random_reads = 2'000;
  Duration row =
      Duration::seconds(15);  // The first time; what was not reached by then is left out.
};

// How fast one reader reads the files of a folder, a mount or any other: the names of all with
// their sizes, small files whole, long ones in sequence by 1 MiB, 4 KiB at random places of those.
// Rows that no file is for are left out. What the kernel remembers is not dropped: of a mount that
// is new the first time is cold. What cannot be read is passed over. Blocks.
//
// Errors: kNotFound and kInvalid for what is no folder; of a row whose files all fail the last one.
Result<std::vector<BenchRow>> bench_folder(env::Clock& clock, const std::string& folder,
                                           const BenchLimits& limits);

}  // namespace runnel::volume
