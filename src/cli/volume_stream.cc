#include "cli/volume_stream.h"

#include "cli/print.h"
#include "cli/volume_client.h"
#include "cli/volume_transfer.h"
#include "home/paths.h"

namespace runnel::cli {

Result<void> refuse_document(const Arguments& arguments, const std::string& place) {
  if (place != "-" || !is_document(arguments.output)) return {};
  return Error(Errc::kInvalid, "stdout is the stream, and has no room for a document")
      .with_hint("leave out -o, or name a file");
}

Result<std::string> file_place(const std::string& place) {
  if (place == "-") return place;
  return home::absolute_path(place);
}

volume::GetOptions whole_or_nothing() {
  volume::GetOptions options;
  options.passes_over = false;
  return options;
}

int answer_got(const Arguments& arguments, const std::string& place,
               const volume::GetProgress& got) {
  json::Value value = got_document(got);
  value.set("target", json::Value::text(place));
  if (place != "-") answer(arguments, value, "");
  return 0;
}

}  // namespace runnel::cli
