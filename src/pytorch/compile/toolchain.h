#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "det/base/error.h"

/// How a model definition in C++ becomes a library. Knows no tensors.
namespace det::pytorch {

/// Where the headers and libraries are that a trial is built with.
struct Sdk {
  std::filesystem::path root;   ///< has include/det/pytorch.h and lib/libdet_pytorch.so
  std::filesystem::path torch;  ///< has include/ATen and lib/libtorch_cpu.so
};

/// The compiler and what it is called with.
struct Toolchain {
  std::filesystem::path compiler;
  bool clang =
      false;  ///< Precompiled headers pay off with clang only: g++'s take 724 MB and halve the time at best.
  std::vector<std::string> flags;
  std::string linker;  ///< for -fuse-ld=; empty: the compiler's own choice
  bool cmake = false;  ///< whether there is a CMake, which only some trials need
  std::string digest;  ///< of all that decides what comes out, but for the sources

  /// $DET_CXX, else the newest clang on PATH, else g++. None: FailedPrecondition that says what to install.
  static Result<Toolchain> find(const Sdk& sdk, const std::function<const char*(const char*)>& variable);
};

/// 16 bytes of BLAKE2b in hexadecimal.
std::string digest_of(const std::string& bytes);

/// Runs a command in a directory, passing each line that it prints on to `line`. Its exit status; 128 +
/// signal where a signal ended it; 127 where it could not be started.
int run_command(const std::vector<std::string>& command, const std::filesystem::path& directory,
                const std::function<void(const std::string&)>& line);

}  // namespace det::pytorch
