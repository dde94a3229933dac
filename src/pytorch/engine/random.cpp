#include "det/pytorch/engine/random.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "det/pytorch/engine/digest.h"

namespace det::pytorch {

namespace {

at::Tensor state_of(at::Generator generator) {
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

void put_back(at::Generator generator, const Dict& saved, const char* name) {
  const auto* state = saved.find(name);
  if (state == nullptr) return;
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state->tensor());
}

at::Generator gpu_generator() {
  return at::globalContext().defaultGenerator(c10::Device(c10::kCUDA, -1));
}

}  // namespace

std::uint64_t derive(std::uint64_t seed, std::initializer_list<std::string> path) {
  std::string text = std::to_string(seed);
  for (const auto& part : path) text += "/" + part;
  return digest_number(text) >> 1;
}

at::Generator seeded_generator(std::uint64_t seed) {
  return at::detail::createCPUGenerator(seed);
}

void seed_all(std::uint64_t seed) {
  at::manual_seed(seed);
}

Dict random_state(bool with_gpu) {
  Dict saved;
  saved["cpu_rng_state"] = state_of(at::detail::getDefaultCPUGenerator());
  if (with_gpu) saved["gpu_rng_state"] = state_of(gpu_generator());
  return saved;
}

void restore_random_state(const Dict& saved, bool with_gpu) {
  put_back(at::detail::getDefaultCPUGenerator(), saved, "cpu_rng_state");
  if (with_gpu) put_back(gpu_generator(), saved, "gpu_rng_state");
}

}  // namespace det::pytorch
