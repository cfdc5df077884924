#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/table.h"
#include "json/value.h"

namespace runnel::cli {

// stdout is data, stderr is talk.
// stderr, with a line end. Of control characters only our own line ends and tabs arrive, and a
// terminal gets lines that fit it.
void say(std::string_view text);
void say_all(const std::vector<std::string>& lines);
void date_lines();  // From here on what is said begins with the time, for a log.
std::string said(std::string_view text);  // What say() writes.
void put_error(std::string_view text);    // stderr, as it is.
void put(std::string_view text);          // stdout, as it is; ends the process when it cannot.

// Prints an error to stderr and returns the exit code it deserves: 2 for what the user must mend,
// else 1.
int complain(const Error& error);
// Does so as the end of a command. With JSON or YAML it is also the command's document on stdout,
// {"error": ...}: the tool spoke, no job. Several are one document, {"error": the first, "errors":
// all}, and the code is that of the last.
int fail(const Error& error);
int fail(const std::vector<Error>& errors);
json::Value error_document(const Error& error);
int exit_code_of(const Error& error);

enum class Colours : std::uint8_t { kNever, kOnTerminal };
// How the command was asked to answer; main() says it once, before anything is printed.
void print_as(Output output, Colours colours);

// The table for stdout: of the width of a terminal, whole in a pipe, with tabs by -o tsv.
std::string table_text(const Table& table);
// A line of words for stdout; one that is wider than the terminal goes on `indent` columns in.
std::string paragraph(std::string_view line, std::size_t indent = 2);
// CSV for stdout, which a terminal gets printable.
void put_csv(const std::string& text);

bool stdout_is_terminal();
bool stderr_is_terminal();
// Whether the data themselves were asked for, as JSON or YAML, and not what a person reads.
inline bool is_document(Output output) {
  return output == Output::kJson || output == Output::kYaml;
}
// Whether all columns were asked for, by a person or a program.
inline bool is_whole(Output output) { return output == Output::kWide || output == Output::kTsv; }
// The document in the form that was asked for: JSON or YAML.
std::string document(const json::Value& value, Output output);

// One document of what was asked about one thing or several: the answer itself, or their list.
std::string document_of_all(json::Value::List answers, Output output);

// One of a stream of documents: a line of JSON, or a YAML document with its marker.
std::string stream_item(const json::Value& value, Output output);

// Members of documents, with fallbacks for what a document leaves out. Texts are printable, since a
// person reads them; what is handed on as it is, is taken from the document itself.
std::string text_of(const json::Value& value, std::string_view key,
                    const std::string& fallback = "");
std::int64_t number_of(const json::Value& value, std::string_view key, std::int64_t fallback = 0);
// Empty when there is none.
const json::Value::List& list_at(const json::Value& value, std::string_view key);
// What a table shows of a text that may be empty.
std::string or_dash(std::string text);
// A number as it is written, or a text.
std::string scalar_text(const json::Value& value);

}  // namespace runnel::cli
