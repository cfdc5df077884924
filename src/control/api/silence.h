#pragma once

#include <string>

#include "json/value.h"

namespace runnel::control {

// A part of the home that does not answer.
struct Silence {
  std::string message;
  std::string remedy;
};

// {"message": ..., "remedy": ...}
inline json::Value silence_document(const Silence& silence) {
  json::Value out = json::Value::object();
  out.set("message", json::Value::text(silence.message));
  out.set("remedy", json::Value::text(silence.remedy));
  return out;
}

}  // namespace runnel::control
