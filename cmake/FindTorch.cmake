# FindTorch — LibTorch out of an installed PyTorch wheel, without a CUDA toolkit.
#
# The wheel's own TorchConfig.cmake of a CUDA build insists on a toolkit; its headers and libraries do not.
#   Torch_ROOT            directory of the "torch" package (has include/ and lib/)
#   Python3_EXECUTABLE    asked for that directory when no root is given
# Targets: Torch::c10, Torch::cpu (torch_cpu and c10), Torch::torch (the same).
include(FindPackageHandleStandardArgs)
if(NOT Torch_ROOT)
  set(Torch_ROOT "$ENV{TORCH_ROOT}")
endif()
if(NOT Torch_ROOT)
  if(NOT Python3_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
    set(Python3_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  endif()
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(Python3_EXECUTABLE)
    # find_spec does not import torch: 20 ms and not 2 s
    execute_process(COMMAND ${Python3_EXECUTABLE} -c
      "import importlib.util as u;print(u.find_spec('torch').submodule_search_locations[0])"
      OUTPUT_VARIABLE Torch_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
set(Torch_ROOT "${Torch_ROOT}" CACHE PATH "torch package directory" FORCE)
find_path(Torch_INCLUDE_DIR ATen/ATen.h PATHS ${Torch_ROOT}/include NO_DEFAULT_PATH)
foreach(library c10 torch_cpu)
  find_library(Torch_${library}_LIBRARY ${library} PATHS ${Torch_ROOT}/lib NO_DEFAULT_PATH)
endforeach()
if(EXISTS "${Torch_ROOT}/version.py")
  file(STRINGS "${Torch_ROOT}/version.py" version REGEX "^__version__ *(: *[a-z]+)? *=")
  string(REGEX REPLACE ".*'([0-9.]+)[^']*'.*" "\\1" Torch_VERSION "${version}")
endif()
find_package_handle_standard_args(Torch
  REQUIRED_VARS Torch_INCLUDE_DIR Torch_c10_LIBRARY Torch_torch_cpu_LIBRARY
  VERSION_VAR Torch_VERSION)
if(Torch_FOUND AND NOT TARGET Torch::torch)
  add_library(Torch::c10 SHARED IMPORTED)
  set_target_properties(Torch::c10 PROPERTIES
    IMPORTED_LOCATION "${Torch_c10_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Torch_INCLUDE_DIR}"
    INTERFACE_COMPILE_FEATURES cxx_std_20)
  add_library(Torch::cpu SHARED IMPORTED)
  set_target_properties(Torch::cpu PROPERTIES
    IMPORTED_LOCATION "${Torch_torch_cpu_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Torch_INCLUDE_DIR};${Torch_INCLUDE_DIR}/torch/csrc/api/include"
    # LibTorch's names are g++'s; clang 18 and later write the constraints of templates into theirs.
    INTERFACE_COMPILE_OPTIONS
      "$<$<AND:$<CXX_COMPILER_ID:Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,18>>:-fclang-abi-compat=17>"
    INTERFACE_COMPILE_DEFINITIONS "USE_DISTRIBUTED;USE_C10D_GLOO"
    INTERFACE_LINK_LIBRARIES "Torch::c10")
  add_library(Torch::torch ALIAS Torch::cpu)
endif()
