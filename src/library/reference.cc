#include "library/reference.h"

#include "json/read.h"
#include "model/fields.h"

namespace runnel::model {

template <>
struct Fields<library::Reference> {
  static void visit(auto& visit, auto& reference) {
    visit("manifest", reference.manifest);
    visit("store", reference.store, Required());
    visit("version", reference.version);
    visit("volume", reference.volume, Required());
  }
};

}  // namespace runnel::model

namespace runnel::library {

std::string encode_reference(const Reference& reference) {
  std::string text;
  json::Writer out(text);
  model::write_record(out, reference);
  return text;
}

Result<Reference> decode_reference(std::string_view text) {
  const Result<json::Value> json = json::parse(text);
  Result<Reference> reference =
      json.ok() ? model::read_record<Reference>(*json) : Result<Reference>(json.error());
  if (reference.ok()) return reference;
  return Error(Errc::kInvalid, "no reference to a volume: " + reference.error().to_string())
      .with_hint("give what runnel_reference() gave in the other process");
}

}  // namespace runnel::library
