#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "det/pytorch/environment.h"

/// LibTorch as it is in this process. This header knows no tensors, so that what includes it compiles fast.
namespace det::pytorch {

/// Threads, determinism, seeds, once in a process. Initial weights follow from the seed alone.
void prepare_process(const Environment& environment);

/// Does a little of what trials do, on one thread and without a backward pass, so that a fork finds it in
/// memory.
void warm_up();

const char* torch_version();  ///< "2.11.0"
/// Where LibTorch lies: has include/ and lib/.
std::filesystem::path torch_directory();

/// What is recorded of LibTorch with a trial, and what decides whether the same numbers come out again. The
/// names are those of Python's record (determined._environment).
struct TorchFacts {
  std::optional<std::string> cuda;  ///< Version of the runtime, where it was loaded.
  std::optional<std::string> cudnn;
  std::vector<std::pair<std::string, std::variant<bool, std::int64_t, std::string>>> switches;
};
TorchFacts torch_facts();

}  // namespace det::pytorch
