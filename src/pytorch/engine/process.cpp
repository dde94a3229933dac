#include "det/pytorch/engine/process.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>
#include <torch/torch.h>
#include <unistd.h>

#include <array>

#include "det/pytorch/engine/random.h"
#include "det/pytorch/gpu/gpu_parts.h"

namespace det::pytorch {

namespace {

/// The CUDA half of LibTorch, where there is a GPU: nothing links it, and it must be there before the first
/// question for a GPU, whose answer is kept.
void load_cuda() {
  if (::access("/dev/nvidiactl", F_OK) != 0) return;
  const auto library = torch_directory() / "lib/libtorch_cuda.so";
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr)
    std::fprintf(stderr, "found a GPU, but cannot load %s: %s\n", library.c_str(), ::dlerror());
}

/// The library beside this one, where there is one.
const GpuParts* load_gpu_parts() {
  if (!at::hasCUDA()) return nullptr;
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&prepare_process), &info);
  const auto library = std::filesystem::path(info.dli_fname).parent_path() / "libdet_pytorch_gpu.so";
  std::error_code error;
  if (!std::filesystem::exists(library, error)) return nullptr;
  void* loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    std::fprintf(stderr, "cannot load %s, so gradients go through main memory: %s\n", library.c_str(),
                 ::dlerror());
    return nullptr;
  }
  const auto parts = reinterpret_cast<const GpuParts* (*)()>(::dlsym(loaded, "det_gpu_parts"));
  return parts == nullptr ? nullptr : parts();
}

}  // namespace

const GpuParts* gpu_parts() {
  static const GpuParts* parts = load_gpu_parts();
  return parts;
}

const char* torch_version() {
  return TORCH_VERSION;
}

std::filesystem::path torch_directory() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&at::globalContext), &info);
  return std::filesystem::canonical(info.dli_fname).parent_path().parent_path();
}

void warm_up() {
  load_cuda();  // a fork could not: what has looked for it once never looks again
  at::set_num_threads(1);
  const torch::NoGradGuard no_grad;
  torch::nn::Sequential model(torch::nn::Conv2d(1, 2, 3), torch::nn::BatchNorm2d(2), torch::nn::Flatten(),
                              torch::nn::Linear(8, 2));
  const auto output = model->forward(torch::zeros({2, 1, 4, 4}));
  torch::cross_entropy_loss(output, torch::zeros({2}, torch::kLong));
}

void prepare_process(const Environment& environment) {
  if (environment.use_gpu) load_cuda();
  at::set_num_threads(environment.threads);
  // Two runs with one seed give the same numbers wherever PyTorch knows how; where it does not, it warns
  // once.
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  seed_all(environment.trial_seed);
}

TorchFacts torch_facts() {
  const auto& context = at::globalContext();
  TorchFacts facts;
  if (at::hasCUDA()) {
    const auto runtime = at::detail::getCUDAHooks().versionCUDART();  // 13000 is 13.0
    facts.cuda = c10::str(runtime / 1000, ".", runtime % 1000 / 10);
    if (at::detail::getCUDAHooks().compiledWithCuDNN())
      facts.cudnn = c10::str(at::detail::getCUDAHooks().versionRuntimeCuDNN());
  }
  const auto type = at::get_default_dtype_as_scalartype();
  constexpr std::array precisions = {"highest", "high", "medium"};
  facts.switches = {
      {"deterministic_algorithms", context.deterministicAlgorithms()},
      {"deterministic_algorithms_warn_only", context.deterministicAlgorithmsWarnOnly()},
      {"cudnn_deterministic", context.deterministicCuDNN()},
      {"cudnn_benchmark", context.benchmarkCuDNN()},
      {"cudnn_allow_tf32", context.allowTF32CuDNN()},
      {"matmul_allow_tf32", context.allowTF32CuBLAS()},
      {"float32_matmul_precision",
       std::string(precisions.at(static_cast<std::size_t>(context.float32MatmulPrecision())))},
      {"default_dtype", type == at::kFloat ? "float32" : std::string(c10::toString(type))},
      {"threads", static_cast<std::int64_t>(at::get_num_threads())},
  };
  return facts;
}

}  // namespace det::pytorch
