#pragma once

#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <vector>

#include "det/pytorch/export.h"

/// LibTorch's optimizers with the steps of torch.optim: its order of operations, and so its bits. Options,
/// parameter groups, states and checkpoints are those of the classes that they derive from.
namespace det::pytorch {

/// How a step is computed. Between kernels the last bits may differ, as they do in Python.
enum class Kernel {
  DEFAULT,  ///< EACH for parameters on a CPU, FOREACH on a GPU: torch.optim's own choice.
  EACH,     ///< One parameter after the other; in Python `foreach=False`.
  FOREACH,  ///< Each operation for all parameters at once; in Python `foreach=True`.
  FUSED,    ///< Everything in one operation; in Python `fused=True`.
};

/// What the optimizers below have in common.
class DET_PYTORCH_API HasKernel {
 public:
  explicit HasKernel(Kernel kernel) : kernel_(kernel) {}
  virtual ~HasKernel() = default;
  Kernel kernel() const { return kernel_; }

 protected:
  HasKernel(HasKernel&&) = default;
  HasKernel& operator=(HasKernel&&) = default;

 private:
  Kernel kernel_;
};

/// `Base` with the step of Python's class of the same name. Sparse gradients are refused where Python refuses
/// them (UsageError).
template <typename Base, typename Options>
class PythonOptimizer : public Base, public HasKernel {
 public:
  using Group = torch::optim::OptimizerParamGroup;

  explicit PythonOptimizer(std::vector<at::Tensor> parameters, Options options, Kernel kernel)
      : Base(std::move(parameters), std::move(options)), HasKernel(kernel) {}
  explicit PythonOptimizer(const std::vector<Group>& groups, Options options, Kernel kernel)
      : Base(groups, std::move(options)), HasKernel(kernel) {}
};

class DET_PYTORCH_API SGD : public PythonOptimizer<torch::optim::SGD, torch::optim::SGDOptions> {
 public:
  explicit SGD(std::vector<at::Tensor> parameters, torch::optim::SGDOptions options,
               Kernel kernel = Kernel::DEFAULT)
      : PythonOptimizer(std::move(parameters), std::move(options), kernel) {}
  explicit SGD(const std::vector<Group>& groups, torch::optim::SGDOptions options,
               Kernel kernel = Kernel::DEFAULT)
      : PythonOptimizer(groups, std::move(options), kernel) {}
  at::Tensor step(LossClosure closure = nullptr) override;
};

class DET_PYTORCH_API Adam : public PythonOptimizer<torch::optim::Adam, torch::optim::AdamOptions> {
 public:
  explicit Adam(std::vector<at::Tensor> parameters, torch::optim::AdamOptions options = {},
                Kernel kernel = Kernel::DEFAULT)
      : PythonOptimizer(std::move(parameters), std::move(options), kernel) {}
  explicit Adam(const std::vector<Group>& groups, torch::optim::AdamOptions options = {},
                Kernel kernel = Kernel::DEFAULT)
      : PythonOptimizer(groups, std::move(options), kernel) {}
  at::Tensor step(LossClosure closure = nullptr) override;
};

/// Decays weights beside the gradient: by `weight_decay`, 0.01 unless it is said.
class DET_PYTORCH_API AdamW : public PythonOptimizer<torch::optim::AdamW, torch::optim::AdamWOptions> {
 public:
  explicit AdamW(std::vector<at::Tensor> parameters, torch::optim::AdamWOptions options = {},
                 Kernel kernel = Kernel::DEFAULT)
      : PythonOptimizer(std::move(parameters), std::move(options), kernel) {}
  explicit AdamW(const std::vector<Group>& groups, torch::optim::AdamWOptions options = {},
                 Kernel kernel = Kernel::DEFAULT)
      : PythonOptimizer(groups, std::move(options), kernel) {}
  at::Tensor step(LossClosure closure = nullptr) override;
};

}  // namespace det::pytorch
