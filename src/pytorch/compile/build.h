#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <variant>

#include "det/pytorch/compile/toolchain.h"

namespace det::pytorch {

/// "model_def.cpp:MnistTrial": the file that holds the class (or CMakeLists.txt, which builds it), and its
/// name.
struct Entrypoint {
  std::string file;
  std::string name;
};
Result<Entrypoint> parse_entrypoint(const std::string& entrypoint);

struct BuildOptions {
  std::filesystem::path directory;  ///< the model definition
  std::string file;                 ///< of the entry point
  std::filesystem::path cache;      ///< shared by all trials of this machine's agent
  Sdk sdk;
  std::function<const char*(const char*)> variable;       ///< the environment
  std::function<void(const std::string&)> log;            ///< a line about what is done
  std::function<void(const std::string&)> compiler_says;  ///< a line of the compiler's own
};

/// The sources are at fault: trying again will not help. `message` has the compiler's first errors.
struct BuildFailure {
  std::string message;
};

/// The library of a model definition: out of the cache where the same sources were built with the same SDK,
/// compiler and flags before, else compiled now. Processes that want the same at once wait for the one that
/// builds it.
///
/// The entry point's file and all other C++ sources beside it are compiled and linked together; with
/// CMakeLists.txt, CMake does whatever that says. An Error is the machine's fault: no compiler, no space.
Result<std::variant<std::filesystem::path, BuildFailure>> build_model(const BuildOptions& options);

/// Compiles the SDK's header in advance if that pays off and was not done yet; a build does it by itself.
Result<void> prepare_headers(const BuildOptions& options);

}  // namespace det::pytorch
