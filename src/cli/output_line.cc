#include "cli/output_line.h"

#include "cli/print.h"

namespace runnel::cli {
namespace {

// "train/3: ", with attempt and rank where they tell more.
std::string prefix_of(const json::Value& line) {
  std::string prefix = text_of(line, "step") + "/" + std::to_string(number_of(line, "task"));
  const std::int64_t attempt = number_of(line, "attempt", 1);
  const std::int64_t rank = number_of(line, "rank");
  if (attempt > 1) prefix += "#" + std::to_string(attempt);
  if (rank > 0) prefix += "." + std::to_string(rank);
  return prefix + ": ";
}

// As the task wrote it: output passes byte for byte.
std::string raw_text(const json::Value& line) {
  const json::Value* text = line.find("msg");
  return text != nullptr && text->is_text() ? text->as_text() : std::string();
}

// The state of a progress bar that will be written over.
bool is_passing(const std::string& bytes) { return bytes.ends_with('\r'); }

std::string from_latin1(const std::string& text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead < 0x80 || at + 1 == text.size()) {
      bytes += text[at];
      continue;
    }
    const auto next = static_cast<unsigned char>(text[++at]);
    bytes += static_cast<char>(((lead & 0x03) << 6) | (next & 0x3F));
  }
  return bytes;
}

using To = OutputRun::To;

void add_text(OutputBatch& batch, To to, const std::string& text) {
  if (batch.empty() || batch.back().to != to) batch.push_back({to, ""});
  batch.back().text += text;
}

}  // namespace

bool has_many_ranks(const json::Value& job) {
  const json::Value* steps = job.find("steps");
  if (steps == nullptr || !steps->is_list()) return false;
  std::int64_t ranks = 0;
  for (const json::Value& step : steps->as_list()) {
    ranks += number_of(step, "tasks", 1) * number_of(step, "ranks", 1);
  }
  return ranks > 1;
}

std::string exact_bytes(const json::Value& line) {
  const json::Value* bytes = line.find("bytes");
  if (bytes != nullptr && bytes->is_text()) return from_latin1(bytes->as_text());
  return raw_text(line) + "\n";
}

std::string damage_of(const json::Value& line) { return text_of(line, "damage"); }

void add_output(OutputBatch& batch, const json::Value& line, Output output, bool many) {
  const std::string damage = damage_of(line);
  if (!damage.empty()) add_text(batch, To::kError, said("runnel: damage: " + damage));
  if (is_document(output)) add_text(batch, To::kOut, stream_item(line, output));
  if (is_document(output) || !damage.empty()) return;
  std::string text = exact_bytes(line);
  if (many) {
    if (is_passing(text)) return;
    text = prefix_of(line) + raw_text(line) + "\n";
  }
  add_text(batch, text_of(line, "stream") == "stderr" ? To::kError : To::kOut, text);
}

void put_batch(const OutputBatch& batch) {
  for (const OutputRun& run : batch) run.to == To::kError ? put_error(run.text) : put(run.text);
}

void print_output(const json::Value& line, Output output, bool many) {
  OutputBatch batch;
  add_output(batch, line, output, many);
  put_batch(batch);
}

}  // namespace runnel::cli
