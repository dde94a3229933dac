# find_package(det): build trials in C++ with CMake.
#
#   det_add_trial(<sources>...)            model.so, which `entrypoint: CMakeLists.txt:Class` names
#   det_add_program(<name> <sources>...)   a program that calls det::pytorch::run, to debug a trial by hand
# Target: det::pytorch. LibTorch is what det was built with, unless Torch_ROOT names it at another place.
get_filename_component(DET_ROOT "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
include(${CMAKE_CURRENT_LIST_DIR}/detTorchRoot.cmake)
if(NOT Torch_ROOT AND NOT DEFINED ENV{TORCH_ROOT} AND EXISTS ${det_TORCH_ROOT}/include/ATen/ATen.h)
  set(Torch_ROOT ${det_TORCH_ROOT})
endif()
find_package(Torch REQUIRED)
if(NOT TARGET det::pytorch)
  add_library(det::pytorch SHARED IMPORTED)
  set_target_properties(det::pytorch PROPERTIES
    IMPORTED_LOCATION ${DET_ROOT}/lib/libdet_pytorch.so
    INTERFACE_INCLUDE_DIRECTORIES ${DET_ROOT}/include
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_LINK_LIBRARIES Torch::cpu)
endif()

function(det_add_trial)
  add_library(model MODULE ${ARGN})
  set_target_properties(model PROPERTIES
    PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(model PRIVATE det::pytorch)
endfunction()

function(det_add_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE det::pytorch)
endfunction()
