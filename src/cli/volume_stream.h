#pragma once

#include <string>

#include "cli/arguments.h"
#include "volume/get.h"

namespace runnel::cli {

// What dump, load, export and import have in common: "-" is this process's own stdin or stdout.

// kInvalid when a document is asked for where stdout is the stream itself.
Result<void> refuse_document(const Arguments& arguments, const std::string& place);
// The file, absolute; "-" stays.
Result<std::string> file_place(const std::string& place);
// A file that is damaged in the store is the end of the stream.
volume::GetOptions whole_or_nothing();
int answer_got(const Arguments& arguments, const std::string& place,
               const volume::GetProgress& got);

}  // namespace runnel::cli
