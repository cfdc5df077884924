#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/arguments.h"
#include "json/value.h"

namespace runnel::cli {

// stdout is data, stderr is talk.
void say(std::string_view text);        // stderr, with a line end.
void put_error(std::string_view text);  // stderr, as it is.
void put(std::string_view text);        // stdout, as it is; ends the process when it cannot.

// Prints an error to stderr and returns the exit code it deserves: 2 for what the user must mend,
// else 1.
int complain(const Error& error);
// Does so as the end of a command. With JSON or YAML it is also the command's document on stdout,
// {"error": ...}: the tool spoke, no job. Several are one document, {"error": the first, "errors":
// all}, and the code is that of the last.
int fail(const Error& error);
int fail(const std::vector<Error>& errors);
void print_errors_as(Output output);
json::Value error_document(const Error& error);
int exit_code_of(const Error& error);

// A table with aligned columns on a terminal, tab-separated lines in a pipe.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text(bool aligned) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

bool stdout_is_terminal();
bool stderr_is_terminal();
// Whether the data themselves were asked for, as JSON or YAML, and not what a person reads.
inline bool is_document(Output output) {
  return output == Output::kJson || output == Output::kYaml;
}
// The document in the form that was asked for: JSON or YAML.
std::string document(const json::Value& value, Output output);

// One document of what was asked about one thing or several: the answer itself, or their list.
std::string document_of_all(json::Value::List answers, Output output);

// One of a stream of documents: a line of JSON, or a YAML document with its marker.
std::string stream_item(const json::Value& value, Output output);

// Members of documents, with fallbacks for what a document leaves out.
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
