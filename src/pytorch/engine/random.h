#pragma once

#include <ATen/core/Generator.h>

#include <cstdint>
#include <initializer_list>
#include <string>

#include "det/pytorch/value.h"

/// The random generators of a trial. The rules are those of Python's _rng.py, so that equal seeds give equal
/// numbers.
namespace det::pytorch {

/// A seed of 63 bits for one use: equal for equal arguments, unrelated for different ones. `path` is what
/// Python's `derive(seed, *path)` gets, each part as text.
DET_PYTORCH_API std::uint64_t derive(std::uint64_t seed, std::initializer_list<std::string> path);

/// A generator of its own on the CPU.
DET_PYTORCH_API at::Generator seeded_generator(std::uint64_t seed);

/// Seeds PyTorch's default generators on all devices.
void seed_all(std::uint64_t seed);

/// The state of the default generators, named as in Python's checkpoints.
Dict random_state(bool with_gpu);
void restore_random_state(const Dict& saved, bool with_gpu);

/// Whatever is drawn while it lives, the generators are afterwards as before.
class Untouched {
 public:
  explicit Untouched(bool with_gpu) : with_gpu_(with_gpu), before_(random_state(with_gpu)) {}
  ~Untouched() { restore_random_state(before_, with_gpu_); }
  Untouched(const Untouched&) = delete;
  Untouched& operator=(const Untouched&) = delete;

 private:
  bool with_gpu_;
  Dict before_;
};

}  // namespace det::pytorch
