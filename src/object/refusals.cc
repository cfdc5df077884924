#include "object/refusals.h"

namespace runnel::object {
namespace {

std::string of(const std::string& store, const std::string& key) { return store + "/" + key; }

}  // namespace

Error no_object(const std::string& store, const std::string& key) {
  return Error(Errc::kNotFound, "there is no object " + of(store, key)).with_value(key);
}

Error exists_already(const std::string& store, const std::string& key) {
  return Error(Errc::kPrecondition, of(store, key) + " exists already").with_value(key);
}

Error was_replaced(const std::string& store, const std::string& key) {
  return Error(Errc::kPrecondition, of(store, key) + " is not what was read before")
      .with_value(key);
}

Error is_shorter(const std::string& store, const std::string& key, std::int64_t wanted) {
  return Error(Errc::kCorrupt, of(store, key) + " ends before byte " + std::to_string(wanted))
      .with_value(key)
      .with_hint("the object was cut, or another one has its name");
}

Error is_larger(const std::string& store, const std::string& key, std::int64_t limit) {
  return Error(Errc::kInvalid,
               of(store, key) + " has more than " + std::to_string(limit) + " bytes")
      .with_value(key);
}

}  // namespace runnel::object
