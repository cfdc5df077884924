#include "env/dynamic_library.h"

#include <dlfcn.h>

#include "base/check.h"

namespace runnel::env {

Result<DynamicLibrary> DynamicLibrary::open(std::string name) {
  CHECK(!name.empty() && name.find('/') == std::string::npos, "a library has a name, and no path");
  void* const handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (handle != nullptr) return DynamicLibrary(std::move(name), handle);
  const char* const why = ::dlerror();
  return Error(Errc::kNotFound, std::string("cannot load ") + (why != nullptr ? why : name))
      .with_value(name);
}

Result<void*> DynamicLibrary::address_of(const char* symbol) const {
  void* const found = ::dlsym(handle_, symbol);
  if (found != nullptr) return found;
  return Error(Errc::kUnsupported,
               name_ + " has no function " + symbol + ": its version is another")
      .with_value(name_);
}

}  // namespace runnel::env
