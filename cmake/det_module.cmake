# det_module(<name> [ROOM path] [PURE] [WAITS] [SEPARATE] [PRECOMPILED name] [HEADERS ...]
#            SOURCES ... [TESTS ...] [DEPS ...] [LINK ...])
#
# One folder, one library, one namespace. A ROOM is a sub-folder of a module that is a library of its own because its
# boundary is real: `det_module(master_ledger ROOM master/ledger …)`, included as "det/master/ledger/…". DEPS are the modules that this one
# may include; LINK are third-party targets. A PURE module computes: it may
# depend only on PURE modules and on libraries that do no I/O. PRECOMPILED
# names a larger set of precompiled headers (precompiled.cmake): asio, cli;
# HEADERS are some of the module's own that nearly all of its files read:
# they are compiled once with that set. A module that WAITS more than it
# computes is optimised less (-O1, with less inlining), which builds it in half the time.
#
# With DET_UNITY many files are compiled at once (AT_ONCE says how many at most, where their names do not allow more), which
# reads their headers and makes what they share of templates once.
# TOGETHER is a filter of Google Test: these tests run in one process, which shares what is slow to start.
#
# The names of their unnamed namespaces meet then; where they are those of every file (list, create), the module is
# SEPARATE. Tests are compiled so, too.
#
# Headers of modules outside DEPS are not on the include path, so a breach of
# the dependency rule (docs/architecture.md) does not compile. Dependencies of
# dependencies are private for the same reason unless they are listed, too.
set(DET_PURE_LIBRARIES fmt::fmt yaml-cpp Boost::json tl::expected)

cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
if(cores LESS_EQUAL 4)
  set(DET_FILES_AT_ONCE 12)  # a third of what 6 at once compile, they compile again and again
else()
  set(DET_FILES_AT_ONCE 6)  # more cores want more pieces
endif()

function(det_module name)
  cmake_parse_arguments(ARG "PURE;WAITS;SEPARATE" "PRECOMPILED;ROOM;TOGETHER;AT_ONCE" "HEADERS;SOURCES;TESTS;DEPS;LINK" ${ARGN})

  foreach(library IN LISTS ARG_LINK)
    if(ARG_PURE AND NOT library IN_LIST DET_PURE_LIBRARIES)
      message(FATAL_ERROR "${name} is PURE: it cannot link ${library}")
    endif()
  endforeach()
  foreach(dep IN LISTS ARG_DEPS)
    get_target_property(dep_is_pure det_${dep} DET_PURE)
    if(ARG_PURE AND NOT dep_is_pure)
      message(FATAL_ERROR "${name} is PURE: it cannot depend on ${dep}, which does I/O")
    endif()
  endforeach()

  # <build>/include/search/det/search -> src/search: the source tree stays flat
  # while every include is spelled "det/search/...".
  set(root ${CMAKE_BINARY_DIR}/include/${name})
  set(path ${name})
  if(ARG_ROOM)
    set(path ${ARG_ROOM})
  endif()
  cmake_path(GET path PARENT_PATH parent)
  file(MAKE_DIRECTORY ${root}/det/${parent})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/det/${path} SYMBOLIC)

  add_library(det_${name} STATIC ${ARG_SOURCES})
  add_library(det::${name} ALIAS det_${name})
  set_target_properties(det_${name} PROPERTIES DET_PURE "${ARG_PURE}")
  target_include_directories(det_${name} PUBLIC ${root})
  target_compile_options(det_${name} PRIVATE -Wconversion ${DET_WARNINGS})
  if(NOT ARG_AT_ONCE)
    set(ARG_AT_ONCE ${DET_FILES_AT_ONCE})
  endif()
  if(NOT ARG_SEPARATE)
    set_target_properties(det_${name} PROPERTIES UNITY_BUILD ${DET_UNITY} UNITY_BUILD_BATCH_SIZE ${ARG_AT_ONCE})
  endif()
  if(ARG_WAITS)
    target_compile_options(det_${name} PRIVATE -O1 ${DET_LESS_INLINING})
  endif()
  if(ARG_HEADERS)
    list(TRANSFORM ARG_HEADERS REPLACE "(.+)" "<det/${name}/\\1>")
    string(TOUPPER "${ARG_PRECOMPILED}" set)
    target_precompile_headers(det_${name} PRIVATE ${DET_HEADERS} ${DET_${set}_HEADERS} ${ARG_HEADERS})
  else()
    string(JOIN _ headers det_precompiled ${ARG_PRECOMPILED})
    target_precompile_headers(det_${name} REUSE_FROM ${headers})
  endif()
  list(TRANSFORM ARG_DEPS PREPEND det::)
  target_link_libraries(det_${name} PUBLIC ${ARG_DEPS} ${ARG_LINK})

  if(ARG_TESTS AND DET_TESTS)
    add_executable(det_${name}_test ${ARG_TESTS})
    target_compile_options(det_${name}_test PRIVATE ${DET_WARNINGS} -O0)
    target_precompile_headers(det_${name}_test REUSE_FROM det_precompiled_test)
    set_target_properties(det_${name}_test PROPERTIES UNITY_BUILD ${DET_UNITY} UNITY_BUILD_BATCH_SIZE 8)
    target_link_libraries(det_${name}_test PRIVATE det::${name} det_asio GTest::gtest_main GTest::gmock)
    set(filter "")
    if(ARG_TOGETHER)
      set(filter "-${ARG_TOGETHER}")
      add_test(NAME ${name}/together COMMAND det_${name}_test --gtest_filter=${ARG_TOGETHER})
      set_tests_properties(${name}/together PROPERTIES TIMEOUT 600)
    endif()
    gtest_discover_tests(det_${name}_test TEST_PREFIX ${name}/ NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
                         TEST_FILTER "${filter}")
  endif()
endfunction()
