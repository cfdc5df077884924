#include "cli/members_text.h"

#include "cli/printable.h"
#include "cli/short_number.h"

namespace runnel::cli {

std::string members_text(const json::Value* object) {
  std::string text;
  if (object == nullptr || !object->is_object()) return text;
  for (const auto& [name, value] : object->as_object()) {
    text += (text.empty() ? "" : " ") + printable(name) + "=" +
            short_number(printable(value.is_text() ? value.as_text() : value.dump()));
  }
  return text;
}

}  // namespace runnel::cli
