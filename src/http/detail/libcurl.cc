#include "http/detail/libcurl.h"

#include "base/check.h"
#include "env/dynamic_library.h"

namespace runnel::http::detail {
namespace {

constexpr const char* kLibrary = "libcurl.so.4";

Result<env::DynamicLibrary> open_library() {
  Result<env::DynamicLibrary> library = env::DynamicLibrary::open(kLibrary);
  if (library.ok()) return library;
  return Error(Errc::kUnsupported, library.error().message)
      .with_value(kLibrary)
      .with_hint("install libcurl 7.88 or later: requests to other servers go through it");
}

Result<Libcurl> load() {
  const env::DynamicLibrary library = TRY(open_library());
  Libcurl curl;
  TRY(library.find("curl_easy_cleanup", curl.easy_cleanup));
  TRY(library.find("curl_easy_getinfo", curl.easy_getinfo));
  TRY(library.find("curl_easy_init", curl.easy_init));
  TRY(library.find("curl_easy_setopt", curl.easy_setopt));
  TRY(library.find("curl_easy_strerror", curl.easy_strerror));
  TRY(library.find("curl_multi_add_handle", curl.multi_add_handle));
  TRY(library.find("curl_multi_cleanup", curl.multi_cleanup));
  TRY(library.find("curl_multi_info_read", curl.multi_info_read));
  TRY(library.find("curl_multi_init", curl.multi_init));
  TRY(library.find("curl_multi_perform", curl.multi_perform));
  TRY(library.find("curl_multi_poll", curl.multi_poll));
  TRY(library.find("curl_multi_remove_handle", curl.multi_remove_handle));
  TRY(library.find("curl_multi_setopt", curl.multi_setopt));
  TRY(library.find("curl_multi_wakeup", curl.multi_wakeup));
  TRY(library.find("curl_slist_append", curl.slist_append));
  TRY(library.find("curl_slist_free_all", curl.slist_free_all));
  decltype(&::curl_global_init) global_init = nullptr;
  TRY(library.find("curl_global_init", global_init));
  CHECK(global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "libcurl cannot be set up");
  return curl;
}

const Result<Libcurl>& loaded() {
  static const Result<Libcurl> kLoaded = load();
  return kLoaded;
}

}  // namespace

Result<void> load_libcurl() {
  if (!loaded().ok()) return loaded().error();
  return {};
}

const Libcurl& libcurl() { return *loaded(); }

}  // namespace runnel::http::detail
