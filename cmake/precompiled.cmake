# Headers of others that most files include, compiled once: a third of the time of a build from nothing.
#
# det_precompiled        what every module uses
# det_precompiled_asio   the same and Boost.Asio, for modules that talk
# det_precompiled_cli    the same and CLI11
# det_precompiled_test   the same as all of them and GoogleTest, for tests; tests are not optimised (-O0)
#
# Only what rarely changes is in them, and only what costs much to read: a larger file is slower to load. Of ours, only
# what nearly every file includes.
set(DET_HEADERS
  <algorithm> <cstdint> <functional> <map> <memory> <optional> <set> <string> <string_view> <variant> <vector>
  <chrono>
  <fmt/format.h> <tl/expected.hpp> <boost/describe.hpp> <boost/json.hpp> <det/base/error.h> <det/base/json.h>)
set(DET_ASIO_HEADERS
  <boost/asio/any_io_executor.hpp> <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp> <boost/asio/io_context.hpp>
  <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp> <boost/asio/redirect_error.hpp> <boost/asio/steady_timer.hpp>
  <boost/asio/use_awaitable.hpp>)

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cpp CONTENT "int main() {}\n")
function(det_precompile name)
  target_link_libraries(${name} PRIVATE fmt::fmt tl::expected Boost::json)
  target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/include/base)  # det_module makes it
  target_compile_options(${name} PRIVATE -Wpedantic)  # defines other macros, as in the modules
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

foreach(name det_precompiled det_precompiled_asio det_precompiled_cli)
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
endforeach()
det_precompile(det_precompiled ${DET_HEADERS})
det_precompile(det_precompiled_asio ${DET_HEADERS} ${DET_ASIO_HEADERS})
det_precompile(det_precompiled_cli ${DET_HEADERS} <CLI/CLI.hpp>)
target_compile_options(det_precompiled_cli PRIVATE -O1)  # as the module
if(DET_TESTS)
  add_executable(det_precompiled_test ${CMAKE_BINARY_DIR}/precompiled.cpp)  # a program: its code is -fPIE
  target_link_libraries(det_precompiled_test PRIVATE det_asio GTest::gtest GTest::gmock)
  det_precompile(det_precompiled_test ${DET_HEADERS} ${DET_ASIO_HEADERS} <gtest/gtest.h> <gmock/gmock.h>)
  target_compile_options(det_precompiled_test PRIVATE -O0)
endif()
