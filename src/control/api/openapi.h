#pragma once

#include <string>

#include "control/api/route.h"
#include "json/value.h"

namespace runnel::control {

// /openapi.json: path, query, headers, body, answers and problems of every route that was added.
class OpenApi {
 public:
  void add(const std::string& path, const Route& route);
  json::Value document(const std::string& version) const;

 private:
  json::Value paths_ = json::Value::object();
};

}  // namespace runnel::control
