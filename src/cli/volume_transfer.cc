#include "cli/volume_transfer.h"

#include <utility>

#include "base/check.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "cli/transfer_line.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/tree_bytes.h"
#include "home/paths.h"
#include "volume/target_tree.h"

namespace runnel::cli {
namespace {

// What takes longer to measure is put without telling when it ends.
constexpr Duration kMeasuredWithin = Duration::seconds(1);

std::string why_left_out(const std::string& path) {
  if (volume::is_unfinished_name(path.substr(path.rfind('/') + 1)))
    return "is what an interrupted `runnel volume get` has left, which you may remove,";
  return "is neither a file, a folder nor a link,";
}

void tell_of_put(const volume::PutResult& result, TransferWords words, Duration took) {
  for (const std::string& path : result.passed_over) {
    say("runnel: warning: " + printable(path) + " " + why_left_out(path) + " and is left out");
  }
  if (result.done.reused > 0) {
    say("went on with " + human(Bytes::count(result.done.reused)) +
        " that an interrupted put had stored");
  }
  say(std::string(words.done) + " " + count_text(result.done.files, "file", "files") + ", " +
      human(Bytes::count(result.done.bytes)) + " (" + human(Bytes::count(result.done.stored)) +
      " stored) in " + human(took));
}

// Of a whole version, before it is got.
std::optional<std::int64_t> bytes_of_version(VolumeClient& client, volume::Volume& opened,
                                             const std::string& version) {
  const Result<volume::Snapshot> snapshot = client.run(opened.snapshot(version));
  return snapshot.ok() ? std::optional(snapshot->manifest().totals.bytes) : std::nullopt;
}

}  // namespace

bool is_local_folder(const std::string& path) {
  const Result<std::string> real = env::real_path(path);
  if (!real.ok()) return false;
  const Result<env::FileInfo> info = env::file_info(*real);
  return info.ok() && info->kind == env::FileKind::kDirectory;
}

json::Value got_document(const volume::GetProgress& got) {
  json::Value value = json::Value::object();
  value.set("version", json::Value::text(got.version));
  value.set("files", json::Value::integer(got.files));
  value.set("bytes", json::Value::integer(got.bytes));
  return value;
}

Result<volume::PutResult> put_and_tell(VolumeClient& client, const Putting& putting,
                                       volume::PutOptions options, TransferWords words,
                                       std::optional<std::int64_t> total) {
  CHECK(putting != nullptr, "a put puts something");
  const Duration begun = env::real_clock().boot();
  TransferLine line(words.running);
  options.progress = [&line, total](const volume::PutProgress& done) {
    line.draw({done.files, done.bytes, total});
  };
  Result<volume::PutResult> done = client.run_drawing(line, putting(std::move(options)));
  line.clear();
  if (done.ok()) tell_of_put(*done, words, env::real_clock().boot() - begun);
  return done;
}

Result<volume::PutResult> put_local_and_tell(VolumeClient& client, volume::Volume& opened,
                                             const std::string& path, const std::string& name,
                                             volume::PutOptions options, TransferWords words) {
  options.source = TRY(home::absolute_path(path));
  auto source = volume::source_of(TRY(volume::SourceTree::open(path, name)));
  const auto total = stderr_is_terminal() ? env::tree_bytes(path, kMeasuredWithin) : std::nullopt;
  return put_and_tell(
      client,
      [&](volume::PutOptions all) {
        return volume::put_from(client.loop(), opened, std::move(source), std::move(all), {});
      },
      std::move(options), words, total);
}

Result<volume::GetProgress> get_and_tell(VolumeClient& client, volume::Volume& opened,
                                         const std::string& version, const std::string& path,
                                         volume::TreeSink& sink, volume::GetOptions options,
                                         TransferWords words) {
  const Duration begun = env::real_clock().boot();
  TransferLine line(words.running);
  std::optional<std::int64_t> total;
  if (line.is_shown() && path.empty()) total = bytes_of_version(client, opened, version);
  options.progress = [&line, total](const volume::GetProgress& done) {
    line.draw({done.files, done.bytes, total});
  };
  Result<volume::GetProgress> done = client.run_drawing(
      line, volume::get_into(client.loop(), opened, version, path, sink, std::move(options), {}));
  line.clear();
  if (!done.ok()) return done;
  say(std::string(words.done) + " " + count_text(done->files, "file", "files") + ", " +
      human(Bytes::count(done->bytes)) + " of version " + done->version + " in " +
      human(env::real_clock().boot() - begun));
  return done;
}

}  // namespace runnel::cli
