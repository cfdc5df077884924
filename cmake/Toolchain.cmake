# The language, the warnings and the tools that every target shares.
include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
# Line tables are what a stack trace needs; full debug information doubles compile time and size.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -D_GLIBCXX_ASSERTIONS")
# For the sanitizers: quick to compile and quick enough to run. ASan's checks cost the optimiser minutes and
# give back seconds; TSan's runs are the long ones.
if(RUNNEL_SANITIZE MATCHES "address")
  set(CMAKE_CXX_FLAGS_CHECKED "-O0 -g1 -D_GLIBCXX_ASSERTIONS")
else()
  set(CMAKE_CXX_FLAGS_CHECKED "-O1 -g1 -D_GLIBCXX_ASSERTIONS")
endif()
set(CMAKE_EXE_LINKER_FLAGS_CHECKED "")

find_program(RUNNEL_CCACHE ccache)
if(RUNNEL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the build directory, so that build directories share objects; and what ccache asks
  # for before it stores objects that used a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros "${RUNNEL_CCACHE}")
endif()

set(RUNNEL_IS_CLANG OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(RUNNEL_IS_CLANG ON)
  find_program(RUNNEL_LLD NAMES ld.lld-19 ld.lld)
  if(RUNNEL_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

add_library(runnel_options INTERFACE)
target_include_directories(runnel_options INTERFACE "${PROJECT_SOURCE_DIR}/src"
                                                    "${PROJECT_BINARY_DIR}/include")
target_compile_options(
  runnel_options
  INTERFACE -fno-omit-frame-pointer
            # Floating point must give the same bits from both compilers: no fused multiply-add.
            -ffp-contract=off
            -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wconversion
            -Wno-sign-conversion # GCC's -Wconversion leaves it out for C++; both compilers must agree.
            -Wnon-virtual-dtor
            -Wold-style-cast
            -Woverloaded-virtual
            -Wcast-qual
            -Wformat=2
            -Wimplicit-fallthrough
            -Wextra-semi
            -Wundef
            # Designated initialisers with default members are how options are passed here.
            -Wno-missing-field-initializers)
if(RUNNEL_IS_CLANG)
  target_compile_options(
    runnel_options INTERFACE -Wthread-safety -Wno-missing-designated-field-initializers
                             -Wunreachable-code -Wloop-analysis -Wrange-loop-analysis)
else()
  # GCC 12 reports these falsely in inlined std::string and std::vector code.
  target_compile_options(
    runnel_options INTERFACE -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow
                             -Wno-stringop-overread -Wno-array-bounds -Wno-dangling-pointer)
endif()
if(RUNNEL_WERROR)
  target_compile_options(runnel_options INTERFACE -Werror)
endif()

# Tests are read once and run for milliseconds: no optimiser, GoogleTest precompiled, many files in a unit.
# Only tests are built so in every preset: a missing include in our own code stays an error in release and debug.
# The library has their `main`, too.
function(runnel_add_test_options)
  add_library(runnel_test_options STATIC EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/test/unit_main.cc")
  target_link_libraries(runnel_test_options PUBLIC runnel_options GTest::gtest GTest::gmock)
  target_compile_options(runnel_test_options PUBLIC -O0)
  if(RUNNEL_IS_CLANG)
    target_compile_options(runnel_test_options PUBLIC "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  target_compile_definitions(runnel_test_options PUBLIC RUNNEL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_precompile_headers(runnel_test_options PRIVATE <gtest/gtest.h> <gmock/gmock.h>)
endfunction()

if(RUNNEL_SANITIZE)
  string(REPLACE ";" "," RUNNEL_SANITIZE_LIST "${RUNNEL_SANITIZE}")
  add_compile_options(-fsanitize=${RUNNEL_SANITIZE_LIST} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RUNNEL_SANITIZE_LIST})
endif()
if(RUNNEL_FUZZ AND NOT RUNNEL_IS_CLANG)
  message(FATAL_ERROR "RUNNEL_FUZZ needs clang: configure with CMAKE_CXX_COMPILER=clang++-19")
endif()

# The one place that tells C++ the version: #include "generated/version.h".
configure_file("${CMAKE_CURRENT_LIST_DIR}/version.h.in"
               "${PROJECT_BINARY_DIR}/include/generated/version.h" @ONLY)

# And its Python package, which a home holds for its tasks: #include "generated/python_package.h".
file(GLOB RUNNEL_PACKAGE RELATIVE "${PROJECT_SOURCE_DIR}/python/runnel" CONFIGURE_DEPENDS
     "${PROJECT_SOURCE_DIR}/python/runnel/*.py")
list(LENGTH RUNNEL_PACKAGE RUNNEL_PACKAGE_COUNT)
set(RUNNEL_PACKAGE_FILES "")
foreach(NAME IN LISTS RUNNEL_PACKAGE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
               "${PROJECT_SOURCE_DIR}/python/runnel/${NAME}")
  file(READ "${PROJECT_SOURCE_DIR}/python/runnel/${NAME}" TEXT)
  string(APPEND RUNNEL_PACKAGE_FILES "    {\"${NAME}\", R\"python(${TEXT})python\"},\n")
endforeach()
configure_file("${CMAKE_CURRENT_LIST_DIR}/python_package.h.in"
               "${PROJECT_BINARY_DIR}/include/generated/python_package.h" @ONLY)
