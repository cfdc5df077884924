# Which module links which third-party libraries: one row per module, and the only place that says so.
# Headers of a library stay inside the module of its row (tools/tidy checks the includes).
#
#   runnel_third_party(MODULE targets...)
include_guard(GLOBAL)

function(runnel_third_party MODULE)
  set_property(GLOBAL PROPERTY RUNNEL_THIRD_PARTY_${MODULE} "${ARGN}")
endfunction()

set(THREADS_PREFER_PTHREAD_FLAG ON)
set(Boost_USE_STATIC_LIBS ON)
set(Boost_NO_WARN_NEW_VERSIONS ON)
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(OpenSSL REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(SQLite3 REQUIRED)
find_package(GTest REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(pugixml REQUIRED IMPORTED_TARGET pugixml)
pkg_check_modules(inih REQUIRED IMPORTED_TARGET inih)
pkg_check_modules(fuse3 REQUIRED IMPORTED_TARGET fuse3)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(curl REQUIRED libcurl)
pkg_check_modules(archive REQUIRED libarchive)
find_library(RUNNEL_RE2 re2 REQUIRED) # Its pkg-config file adds flags that no precompiled header has.

# Asio and Beast compiled once, so that the files which include them stay cheap.
function(runnel_add_boost_network)
  add_library(runnel_asio STATIC "${PROJECT_SOURCE_DIR}/cmake/boost/asio.cc")
  target_compile_definitions(
    runnel_asio PUBLIC BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED
                       BOOST_ASIO_DISABLE_BOOST_ARRAY BOOST_ASIO_DISABLE_BOOST_BIND)
  target_link_libraries(runnel_asio PUBLIC Boost::headers Threads::Threads)
  add_library(runnel_beast STATIC "${PROJECT_SOURCE_DIR}/cmake/boost/beast.cc")
  target_compile_definitions(runnel_beast PUBLIC BOOST_BEAST_SEPARATE_COMPILATION)
  target_link_libraries(runnel_beast PUBLIC runnel_asio)
  # They have thread-local variables, and are in librunnel.so: as RUNNEL_THREAD_LOCAL of modules.cmake.
  set_target_properties(runnel_asio runnel_beast PROPERTIES EXCLUDE_FROM_ALL ON POSITION_INDEPENDENT_CODE ON)
endfunction()

# Of a library that is loaded when it is first needed: its headers.
function(runnel_add_headers_of NAME)
  add_library(runnel_${NAME}_headers INTERFACE)
  target_include_directories(runnel_${NAME}_headers SYSTEM INTERFACE ${${NAME}_INCLUDE_DIRS})
endfunction()

find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
runnel_add_boost_network()
runnel_add_headers_of(curl)
runnel_add_headers_of(archive)

runnel_third_party(base Threads::Threads)
runnel_third_party(env Threads::Threads)
runnel_third_party(json Boost::json)
runnel_third_party(hash OpenSSL::Crypto PkgConfig::xxhash)
runnel_third_party(async runnel_asio)
runnel_third_party(http runnel_beast runnel_curl_headers)
runnel_third_party(extract ${RUNNEL_RE2} Boost::headers) # protozero is headers of the system's folder.
runnel_third_party(spec yaml-cpp)
runnel_third_party(search Eigen3::Eigen)
runnel_third_party(store SQLite::SQLite3)
runnel_third_party(object PkgConfig::pugixml PkgConfig::inih)
runnel_third_party(volume PkgConfig::zstd runnel_archive_headers)
runnel_third_party(fuse PkgConfig::fuse3)
runnel_third_party(cli CLI11::CLI11 PkgConfig::utf8proc)
