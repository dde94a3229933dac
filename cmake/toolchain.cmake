# Compiler, linker and third-party packages: the same for every module.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # our static libraries also go into the Python module
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# What our own code is compiled with; code that is no test has -Wconversion before them.
set(DET_WARNINGS -Wall -Wextra -Wpedantic -Wno-missing-field-initializers -Wno-mismatched-new-delete -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ 12 finds faults in its own std::string when it optimises, and shows them where headers are precompiled; and it
  # takes unnamed namespaces of files that are compiled together for those of headers.
  list(APPEND DET_WARNINGS -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
       -Wno-stringop-overread -Wno-subobject-linkage)
else()
  add_compile_options(-fclang-abi-compat=17)  # the names of templates as LibTorch has them, everywhere (FindTorch.cmake)
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")  # or ccache finds nothing again that reads precompiled headers
  set(DET_LESS_INLINING "SHELL:-mllvm -inline-threshold=10")  # of coroutines, which are many calls: a quarter of the time
  # The first is no part of g++'s -Wconversion; the second is said of libstdc++'s own templates.
  list(APPEND DET_WARNINGS -Wno-sign-conversion -Wno-deprecated-declarations)
endif()

# Programs do not depend on where they were built: __FILE__ is relative.
# ccache makes paths below the checkout relative to the build folder, so both spellings must become one.
add_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -fmacro-prefix-map=${PROJECT_BINARY_DIR}/=
                    -fmacro-prefix-map=../../=)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()
if(DET_SANITIZE)
  add_compile_options(-fsanitize=${DET_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${DET_SANITIZE})
endif()
add_compile_definitions(BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_HAS_CO_AWAIT)
# What is no template in Boost.Asio and Boost.Beast is compiled once (det_asio), not by every file that includes them.
add_compile_definitions(BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION)

find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json url)
find_package(SQLite3 REQUIRED)
find_package(PostgreSQL 14 REQUIRED)
find_package(Threads REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(LibArchive REQUIRED)
find_package(CURL REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
set_target_properties(PkgConfig::re2 PROPERTIES INTERFACE_COMPILE_OPTIONS "")  # -pthread, which would not fit precompiled headers
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium)

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/asio.cpp CONTENT
     "#include <boost/asio/impl/src.hpp>\n#include <boost/asio/ssl/impl/src.hpp>\n#include <boost/beast/src.hpp>\n")
add_library(det_asio STATIC ${CMAKE_BINARY_DIR}/asio.cpp)
target_link_libraries(det_asio PUBLIC Boost::boost OpenSSL::SSL Threads::Threads)

if(DET_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
