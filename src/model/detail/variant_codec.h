#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "model/detail/words.h"
#include "model/fields.h"

// A variant of records as one object whose `type`, the kType of one record, says which it is. The
// member `type` stands last: a key that sorts after it would need another place for it, and the
// writer, which checks the order, says so at the first test.
namespace runnel::model::detail {

template <typename Variant>
void write_variant(json::Writer& out, const Variant& value) {
  out.begin_object();
  std::visit([&](const auto& record) { write_fields(out, record); }, value);
  out.field("type", type_of(value));
  out.end_object();
}

template <typename Variant>
std::string text_of(const Variant& value) {
  std::string text;
  json::Writer out(text);
  write_variant(out, value);
  return text;
}

template <typename Variant, typename T>
Result<Variant> read_alternative(json::Reader& reader) {
  return Variant(TRY(read_fields<T>(reader)));
}

// The reader of each alternative, by its index.
template <typename Variant, std::size_t... I>
constexpr auto alternative_readers(std::index_sequence<I...>) {
  using Read = Result<Variant> (*)(json::Reader&);
  return std::array<Read, sizeof...(I)>{
      &read_alternative<Variant, std::variant_alternative_t<I, Variant>>...};
}

// The words of all alternatives, by index.
template <typename Variant, std::size_t... I>
constexpr std::array<std::string_view, sizeof...(I)> alternative_words(std::index_sequence<I...>) {
  return {std::variant_alternative_t<I, Variant>::kType...};
}

template <typename Variant>
Result<Variant> read_variant(const json::Value& json) {
  constexpr auto kAll = std::make_index_sequence<std::variant_size_v<Variant>>();
  static constexpr auto kReaders = alternative_readers<Variant>(kAll);
  static constexpr auto kWords = alternative_words<Variant>(kAll);
  json::Reader reader = TRY(json::Reader::of(json, ""));
  const std::string type = TRY(reader.text("type"));
  const Result<std::size_t> found = parse_word<std::size_t>(type, kWords, "a type that is known");
  if (!found.ok()) return inside("type", found.error());
  return kReaders[*found](reader);
}

}  // namespace runnel::model::detail
