# What the wheel has of trials in C++: the platform's half compiled, with the modules that it needs, and the tensors' half as
# sources. python/determined/exec/cxx.py compiles these against the user's PyTorch.
add_library(det_pytorch_platform_archive STATIC $<TARGET_OBJECTS:det_pytorch_platform>)
set_target_properties(det_pytorch_platform_archive PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME det_pytorch_platform)

# Our static libraries that a target links, and those that they link, added to ${found}.
function(det_static_libraries target found)
  get_target_property(linked ${target} LINK_LIBRARIES)
  foreach(library IN LISTS linked)
    if(NOT TARGET ${library})
      continue()
    endif()
    get_target_property(name ${library} ALIASED_TARGET)
    if(NOT name)
      set(name ${library})
    endif()
    get_target_property(type ${name} TYPE)
    get_target_property(imported ${name} IMPORTED)
    if(type STREQUAL STATIC_LIBRARY AND NOT imported AND NOT name IN_LIST ${found})
      list(APPEND ${found} ${name})
      det_static_libraries(${name} ${found})
    endif()
  endforeach()
  set(${found} ${${found}} PARENT_SCOPE)
endfunction()

set(parts det_pytorch_platform_archive)
det_static_libraries(det_pytorch_platform parts)
set(archives ${parts})
list(TRANSFORM archives REPLACE "(.+)" "$<TARGET_FILE:\\1>")
add_custom_target(det_pytorch_sdk)
add_dependencies(det_pytorch_sdk ${parts})
if(NOT DEFINED SKBUILD)
  return()
endif()

set(place determined/cxx)
install(FILES ${archives} DESTINATION ${place}/lib COMPONENT wheel)
install(FILES pytorch.h DESTINATION ${place}/include/det COMPONENT wheel)
install(DIRECTORY . DESTINATION ${place}/include/det/pytorch COMPONENT wheel
        FILES_MATCHING PATTERN "*.h" PATTERN "gloo_names/gloo/*" PATTERN "testing.h" EXCLUDE)
foreach(source IN LISTS tensors ITEMS program/main.cpp gpu/gpu.cpp)
  cmake_path(GET source PARENT_PATH folder)
  install(FILES ${source} DESTINATION ${place}/include/det/pytorch/${folder} COMPONENT wheel)
endforeach()
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/wheel/detConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY ExactVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/detConfig.cmake ${PROJECT_SOURCE_DIR}/cmake/FindTorch.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/wheel/detConfigVersion.cmake
        DESTINATION ${place}/cmake COMPONENT wheel)
string(JOIN "\n" text ${tensors})
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/wheel/sources.txt "${text}\n")
string(JOIN "\n" text ${public_headers})
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/wheel/headers.txt "${text}\n")
# Where the wheel was not repaired by auditwheel, the machine's own.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/wheel/libraries.txt
  "boost_url\nboost_json\nboost_container\nssl\ncrypto\nspdlog\nfmt\nsodium\ncurl\nyaml-cpp\n")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/wheel/sources.txt ${CMAKE_CURRENT_BINARY_DIR}/wheel/headers.txt
              ${CMAKE_CURRENT_BINARY_DIR}/wheel/libraries.txt
        DESTINATION ${place} COMPONENT wheel)
