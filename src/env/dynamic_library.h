#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace runnel::env {

// A library of the system that is loaded when it is first needed, by a program that mostly does
// not: its own libraries may take longer to load than all that the program does.
//
// Contract: it stays until the process ends. Its symbols are seen through find() only.
// Threads:  any.
class DynamicLibrary {
 public:
  // `name` as the loader searches for it: "libcurl.so.4". kNotFound when it cannot be loaded here.
  static Result<DynamicLibrary> open(std::string name);

  // Sets `function` to what is exported as `symbol`, whose type it has to have. kUnsupported when
  // there is none.
  template <typename Function>
  Result<void> find(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(TRY(address_of(symbol)));
    return {};
  }

 private:
  DynamicLibrary(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}
  Result<void*> address_of(const char* symbol) const;

  std::string name_;
  void* handle_;
};

}  // namespace runnel::env
