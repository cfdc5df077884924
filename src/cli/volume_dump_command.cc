#include <memory>
#include <utility>

#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "cli/volume_stream.h"
#include "cli/volume_target.h"
#include "cli/volume_transfer.h"
#include "home/volume_places.h"
#include "volume/tar_sink.h"
#include "volume/tar_source.h"

namespace runnel::cli {
namespace {

using volume::Volume;

volume::DumpHeader header_of(const std::string& name, const volume::Manifest& manifest) {
  return {name, manifest.version, manifest.message, manifest.tree, manifest.totals};
}

Result<Volume> opened_or_made(VolumeClient& client, const home::Home& home, const std::string& name,
                              const object::StoreUrl& place) {
  Result<Volume> opened = client.volume(name);
  if (opened.ok() || opened.error().code != Errc::kNotFound) return opened;
  TRY(prepare_for_volume(home, name, place));
  Result<Volume> made = client.run(Volume::create(client.context(), name));
  if (made.ok()) TRY(home::remember_volume(home, name, place));
  return made;
}

// A volume without versions, made when it is not there.
Result<Volume> empty_volume(VolumeClient& client, const home::Home& home, const std::string& name,
                            const object::StoreUrl& place) {
  Result<Volume> opened = opened_or_made(client, home, name, place);
  if (!opened.ok() || opened->head().newest() == nullptr) return opened;
  return Error(Errc::kConflict, "volume " + name + " has versions already")
      .with_field("volume")
      .with_value(name)
      .with_hint("load into a new one, and copy from it: runnel volume cp");
}

}  // namespace

Result<int> dump_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget from = TRY(parse_volume_target(arguments.source));
  if (!from.path.empty()) {
    return Error(Errc::kInvalid, "a dump is of a whole version")
        .with_value(arguments.source)
        .with_hint("a part of it: runnel volume export NAME:/PATH FILE.tar");
  }
  TRY(refuse_document(arguments, arguments.target));
  const VolumeClientPtr client = TRY(client_of(arguments, home, from.name));
  Volume opened = TRY(client->volume(from.name));
  const volume::VersionPlace version = TRY(opened.place_of(from.version_or_latest()));
  const volume::Manifest manifest = TRY(client->run(opened.manifest_at(version)));
  const std::string place = TRY(file_place(arguments.target));
  const auto sink =
      TRY(volume::TarSink::open_dump(client->loop(), place, header_of(from.name, manifest)));
  return answer_got(arguments, place,
                    TRY(get_and_tell(*client, opened, version.version, "", *sink,
                                     whole_or_nothing(), {"dump", "dumped"})));
}

// Before anything is made: that of an earlier build's dump may be longer than one may be now.
Result<std::string> message_of(const Arguments& arguments, const volume::DumpHeader& header) {
  std::string message = arguments.message.value_or(header.message);
  const Result<void> fits = volume::check_message(message);
  if (!fits.ok()) return Error(fits.error()).with_hint("give it another one: -m");
  return message;
}

Result<int> load_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget to = TRY(parse_volume_target(arguments.target));
  TRY(refuse_version(to, "load"));
  if (!to.path.empty()) {
    return Error(Errc::kInvalid, "a dump is loaded as a whole volume")
        .with_value(arguments.target)
        .with_hint("load it, and copy from it: runnel volume cp");
  }
  auto source =
      std::make_unique<volume::DumpSource>(TRY(volume::TarReader::open(arguments.source)));
  const volume::DumpHeader header = TRY(source->read_header());
  const std::string message = TRY(message_of(arguments, header));
  const object::StoreUrl place = TRY(home::place_of_volume(home, to.name, arguments.store));
  const VolumeClientPtr client = TRY(VolumeClient::open(place));
  Volume opened = TRY(empty_volume(*client, home, to.name, place));
  volume::PutOptions options;
  options.source = TRY(file_place(arguments.source));
  options.message = message;
  const volume::PutResult made = TRY(put_and_tell(
      *client,
      [&](volume::PutOptions all) {
        return volume::put_from(client->loop(), opened, std::move(source), std::move(all), {});
      },
      std::move(options), {"load", "loaded"}, header.totals.bytes));
  answer(arguments, manifest_document(made.manifest), made.manifest.version + "\n");
  return 0;
}

}  // namespace runnel::cli
