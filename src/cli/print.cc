#include "cli/print.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "cli/printable.h"
#include "cli/screen.h"
#include "cli/text_width.h"
#include "env/clock.h"
#include "spec/yaml_scalar.h"

namespace runnel::cli {
namespace {

// The errno of what failed, or 0.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(file, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return 0;
}

void write_yaml(std::string& out, const json::Value& value, std::size_t depth);

void write_yaml_members(std::string& out, const json::Value& value, std::size_t depth) {
  for (const auto& [key, member] : value.as_object()) {
    out += std::string(depth * 2, ' ') + spec::yaml_scalar(key) + ":";
    write_yaml(out, member, depth + 1);
  }
}

void write_yaml(std::string& out, const json::Value& value, std::size_t depth) {
  if (value.is_object() && !value.as_object().empty()) {
    out += "\n";
    write_yaml_members(out, value, depth);
  } else if (value.is_list() && !value.as_list().empty()) {
    out += "\n";
    for (const json::Value& item : value.as_list()) {
      out += std::string(depth * 2, ' ') + "-";
      write_yaml(out, item, depth + 1);
    }
  } else if (value.is_text()) {
    out += " " + spec::yaml_scalar(value.as_text()) + "\n";
  } else {
    out += " " + value.dump() + "\n";
  }
}

// The last byte of standard output ended no line.
bool line_is_open = false;

// Both lead to one terminal or file, where a line of ours would continue a task's.
bool share_a_place() {
  struct stat out{};
  struct stat error{};
  return ::fstat(STDOUT_FILENO, &out) == 0 && ::fstat(STDERR_FILENO, &error) == 0 &&
         out.st_dev == error.st_dev && out.st_ino == error.st_ino;
}

// Set once by date_lines().
bool lines_have_dates = false;

// Set once by main().
Output answer_as = Output::kHuman;
Colours colours_as = Colours::kNever;

// Each line broken between words where it is wider than the screen.
std::string fitted(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!out.empty()) out += "\n";
    if (text_width(line) < columns || columns <= 2 * indent) {
      out += line;
      continue;
    }
    std::string_view gap;
    const std::string next = "\n" + std::string(indent, ' ');
    for (const std::string& part : wrapped(line, columns - 1 - indent)) {
      out.append(gap).append(part);
      gap = next;
    }
  }
  return out;
}

json::Value members_of(const Error& error) {
  json::Value inner = json::Value::object();
  inner.set("code", json::Value::text(std::string(to_string(error.code))));
  inner.set("message", json::Value::text(error.message));
  if (!error.field.empty()) inner.set("field", json::Value::text(error.field));
  if (!error.value.empty()) inner.set("value", json::Value::text(error.value));
  if (!error.hint.empty()) inner.set("hint", json::Value::text(error.hint));
  if (!error.where.file.empty()) {
    inner.set("file", json::Value::text(error.where.file));
    inner.set("line", json::Value::integer(error.where.line));
    inner.set("column", json::Value::integer(error.where.column));
  }
  return inner;
}

}  // namespace

void say(std::string_view text) {
  const bool continues = std::exchange(line_is_open, false) && share_a_place();
  put_error((continues ? "\n" : "") + said(text));
}

void say_all(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) say(line);
}

std::string said(std::string_view text) {
  std::string shown = printable_lines(text);
  if (stderr_is_terminal()) shown = fitted(shown, screen_of(STDERR_FILENO).columns, 2);
  if (lines_have_dates) shown = rfc3339(env::real_clock().wall()) + " " + shown;
  return shown + "\n";
}

void date_lines() { lines_have_dates = true; }

void put_error(std::string_view text) { (void)write_all(STDERR_FILENO, text); }

void put(std::string_view text) {
  if (!text.empty()) line_is_open = text.back() != '\n';
  const int error = write_all(STDOUT_FILENO, text);
  if (error == 0) return;
  // The output that was asked for did not arrive, and nothing that follows will.
  if (error != EPIPE) {
    say("runnel: standard output: " + std::system_category().message(error));
  }
  std::_Exit(1);
}

int exit_code_of(const Error& error) {
  return error.code == Errc::kInvalid || error.code == Errc::kUnsupported ? 2 : 1;
}

void print_as(Output output, Colours colours) {
  answer_as = output;
  colours_as = colours;
}

std::string table_text(const Table& table) {
  const bool tabs = answer_as == Output::kTsv;
  if (tabs || !stdout_is_terminal()) return table.text({.tabs = tabs});
  return table.text(
      {.columns = screen_of(STDOUT_FILENO).columns, .colours = colours_as == Colours::kOnTerminal});
}

std::string paragraph(std::string_view line, std::size_t indent) {
  const std::string shown(line);
  return stdout_is_terminal() ? fitted(shown, screen_of(STDOUT_FILENO).columns, indent) : shown;
}

void put_csv(const std::string& text) { put(stdout_is_terminal() ? printable_lines(text) : text); }

json::Value error_document(const Error& error) {
  json::Value out = json::Value::object();
  out.set("error", members_of(error));
  return out;
}

int complain(const Error& error) {
  const std::string text = printable(error.to_string());
  say(error.where.file.empty() ? "runnel: " + text : text);
  return exit_code_of(error);
}

int fail(const Error& error) { return fail(std::vector<Error>{error}); }

int fail(const std::vector<Error>& errors) {
  CHECK(!errors.empty(), "a failure without an error");
  if (is_document(answer_as)) {
    json::Value out = error_document(errors.front());
    json::Value::List all;
    for (const Error& error : errors) all.push_back(members_of(error));
    if (all.size() > 1) out.set("errors", json::Value::list(std::move(all)));
    put(document(out, answer_as));
  }
  int code = 1;
  for (const Error& error : errors) code = complain(error);
  return code;
}

bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }
bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

std::string document(const json::Value& value, Output output) {
  if (output != Output::kYaml) return value.dump_pretty() + "\n";
  std::string text;
  write_yaml(text, value, 0);
  return text.substr(text.find_first_not_of("\n "));
}

std::string document_of_all(json::Value::List answers, Output output) {
  CHECK(!answers.empty(), "a command about nothing");
  if (answers.size() == 1) return document(answers.front(), output);
  return document(json::Value::list(std::move(answers)), output);
}

std::string stream_item(const json::Value& value, Output output) {
  if (output == Output::kYaml) return "---\n" + document(value, output);
  return value.dump() + "\n";
}

std::string text_of(const json::Value& value, std::string_view key, const std::string& fallback) {
  const json::Value* member = value.find(key);
  return member != nullptr && member->is_text() ? printable(member->as_text()) : fallback;
}

std::int64_t number_of(const json::Value& value, std::string_view key, std::int64_t fallback) {
  const json::Value* member = value.find(key);
  return member != nullptr && member->is_int() ? member->as_int() : fallback;
}

std::string or_dash(std::string text) { return text.empty() ? "-" : std::move(text); }

const json::Value::List& list_at(const json::Value& value, std::string_view key) {
  static const json::Value::List kNone;
  const json::Value* found = value.find(key);
  return found != nullptr && found->is_list() ? found->as_list() : kNone;
}

std::string scalar_text(const json::Value& value) {
  return value.is_int() ? std::to_string(value.as_int()) : value.as_text();
}

}  // namespace runnel::cli
