// libdet_pytorch_gpu.so: gpu_parts.h says what it is for. Nothing of CUDA is linked: the process has loaded
// LibTorch's CUDA half before it loads this.
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "det/pytorch/gpu/gpu_parts.h"

namespace det::pytorch {

namespace {

c10::intrusive_ptr<c10d::Backend> connect(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                          std::chrono::milliseconds timeout) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, options);
}

class Graph final : public GpuGraph {
 public:
  void warm(const std::function<void()>& work) override {
    wait_for(stream_, c10::cuda::getCurrentCUDAStream());
    {
      const c10::cuda::CUDAStreamGuard guard(stream_);
      work();
    }
    wait_for(c10::cuda::getCurrentCUDAStream(), stream_);
  }

  void record(const std::function<void()>& work) override {
    c10::cuda::device_synchronize();
    const c10::cuda::CUDAStreamGuard guard(stream_);
    graph_.capture_begin();
    try {
      work();
    } catch (...) {
      try {
        graph_.capture_end();  // else the GPU would take everything that follows for a part of it
      } catch (const std::exception&) {
        // the first error is the one to tell
      }
      throw;
    }
    graph_.capture_end();
  }

  void replay() override { graph_.replay(); }

 private:
  static void wait_for(const c10::cuda::CUDAStream& waiting, const c10::cuda::CUDAStream& other) {
    at::cuda::CUDAEvent event;
    event.record(other);
    event.block(waiting);
  }

  c10::cuda::CUDAStream stream_ = c10::cuda::getStreamFromPool();
  at::cuda::CUDAGraph graph_;
};

}  // namespace

}  // namespace det::pytorch

extern "C" __attribute__((visibility("default"))) const det::pytorch::GpuParts* det_gpu_parts() {
  static const det::pytorch::GpuParts parts{
      .connect = det::pytorch::connect,
      .graph = [] { return std::unique_ptr<det::pytorch::GpuGraph>(new det::pytorch::Graph()); },
  };
  return &parts;
}
