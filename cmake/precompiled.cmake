# Headers of others that most files include, compiled once: a third of the time of a build from nothing.
#
# det_precompiled        what every module uses
# det_precompiled_asio   the same and Boost.Asio, for modules that talk
# det_precompiled_test   the same and GoogleTest, for tests; they are not optimised (-O0), they compile twice as fast
#
# Only what never changes is in them; our own headers are not.
set(DET_HEADERS
  <algorithm> <chrono> <cstdint> <deque> <filesystem> <functional> <map> <memory> <optional> <set> <span> <string>
  <string_view> <utility> <variant> <vector>
  <fmt/format.h> <fmt/ranges.h> <tl/expected.hpp> <boost/describe.hpp> <boost/json.hpp>)
set(DET_ASIO_HEADERS
  <boost/asio/any_io_executor.hpp> <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp> <boost/asio/io_context.hpp>
  <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp> <boost/asio/redirect_error.hpp> <boost/asio/steady_timer.hpp>
  <boost/asio/thread_pool.hpp> <boost/asio/use_awaitable.hpp>)

file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cpp "")
function(det_precompile name)
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(${name} PUBLIC fmt::fmt tl::expected Boost::json)
  target_compile_options(${name} PRIVATE -Wpedantic)  # defines other macros, as in the modules
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

det_precompile(det_precompiled ${DET_HEADERS})
det_precompile(det_precompiled_asio ${DET_HEADERS} ${DET_ASIO_HEADERS})
if(DET_TESTS)
  det_precompile(det_precompiled_test ${DET_HEADERS} ${DET_ASIO_HEADERS} <gtest/gtest.h> <gmock/gmock.h>)
  target_link_libraries(det_precompiled_test PUBLIC GTest::gtest GTest::gmock)
  target_compile_options(det_precompiled_test PRIVATE -O0)
endif()
