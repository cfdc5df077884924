#include "home/python_package.h"

#include "env/files.h"
#include "env/process.h"
#include "generated/python_package.h"
#include "generated/version.h"

namespace runnel::home {
namespace {

// Tasks may be about to read it: what is the same is left alone, and what is not changes at once.
Result<void> keep_file(const std::string& path, std::string_view text) {
  const Result<std::string> there = env::read_file(path);
  if (there.ok() && *there == text) return {};
  return env::write_file_atomically(path, text);
}

// What an installed package has beside it: fsspec finds `runnel://` by it in whatever environment has
// the folder in its PYTHONPATH. As pyproject.toml has it.
Result<void> keep_metadata(const std::string& folder) {
  TRY(env::make_directories(folder));
  TRY(keep_file(folder + "/METADATA",
                "Metadata-Version: 2.1\nName: runnel\nVersion: " + std::string(kVersion) + "\n"));
  return keep_file(folder + "/entry_points.txt",
                   "[fsspec.specs]\nrunnel = runnel.filesystem:RunnelFileSystem\n");
}

}  // namespace

// A folder of its own: nothing but the package may come before what a user's environment has.
Result<std::string> keep_python_package(const Home& home) {
  if (home.root.find(':') != std::string::npos) return std::string();
  const std::string folder = home.root + "/lib/python";
  TRY(env::make_directories(folder + "/runnel"));
  TRY(keep_file(home.root + "/lib/VERSION", std::string(kVersion) + "\n"));
  const std::string build = env::parent_of(env::parent_of(TRY(env::executable_path())));
  TRY(keep_file(home.root + "/lib/LIBRARY", build + "/lib/librunnel.so\n"));
  for (const PackageFile& file : kPythonPackage) {
    TRY(keep_file(folder + "/runnel/" + std::string(file.name), file.text));
  }
  TRY(keep_metadata(folder + "/runnel.dist-info"));
  return folder;
}

}  // namespace runnel::home
