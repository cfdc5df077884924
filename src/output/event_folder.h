#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "extract/event_reader.h"
#include "model/metrics.h"

namespace runnel::output {

// The scalars in the TensorBoard files below a folder, as they grow.
//
// Contract: read() looks for files and reads what was added to each, at most kReadBytesMax;
//           and returns how many bytes that were. Tags in a subfolder carry its path. A folder
//           that is not there is empty; links are not followed.
// Threads:  blocking; one at a time.
// Limits:   files beyond kFilesMax, folders deeper than kDepthMax and names beyond kEntriesMax are
//           not looked at.
class EventFolder {
 public:
  static constexpr std::size_t kReadBytesMax = std::size_t{1} << 20;
  static constexpr std::size_t kFilesMax = 256;
  static constexpr std::size_t kEntriesMax = 10'000;
  static constexpr int kDepthMax = 8;

  using Sizes = std::map<std::string, std::int64_t>;  // By a file's path below the folder.

  // `begin`: how much of each file is passed over.
  explicit EventFolder(std::string path, Sizes begin = {})
      : path_(std::move(path)), begin_(std::move(begin)) {}

  // How large its files are now.
  Sizes sizes();
  std::size_t read(std::vector<model::MetricSample>& samples);
  std::int64_t bad_records() const;

 private:
  struct File {
    explicit File(std::string prefix) : reader(std::move(prefix)) {}
    extract::EventReader reader;
    std::int64_t offset = 0;
  };

  void find(const std::string& folder, int depth, std::size_t& entries);
  std::size_t read_file(const std::string& name, File& file,
                        std::vector<model::MetricSample>& samples);

  std::string path_;
  Sizes begin_;
  std::map<std::string, File> files_;  // By their path below the folder.
};

}  // namespace runnel::output
