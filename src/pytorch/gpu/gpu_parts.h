#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <functional>
#include <memory>

namespace det::pytorch {

/// Work that was recorded on a GPU once, to be started as one piece.
class GpuGraph {
 public:
  virtual ~GpuGraph() = default;
  /// Does work on the stream on which it will be recorded. Libraries choose their algorithms in it.
  virtual void warm(const std::function<void()>& work) = 0;
  virtual void record(const std::function<void()>& work) = 0;  ///< Does not do it.
  virtual void replay() = 0;
};

/// What takes CUDA's headers to compile and a GPU to run. It is a library of its own, libdet_pytorch_gpu.so,
/// built where the wheel brings those headers and loaded where there is a GPU; so nothing else links CUDA.
struct GpuParts {
  /// Connects the ranks by NCCL. Each has made its own GPU the current one.
  c10::intrusive_ptr<c10d::Backend> (*connect)(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                               int size, std::chrono::milliseconds timeout);
  std::unique_ptr<GpuGraph> (*graph)();
};

/// Nothing without a GPU, or without the library.
const GpuParts* gpu_parts();

}  // namespace det::pytorch
