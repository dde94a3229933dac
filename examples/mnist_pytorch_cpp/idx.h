#pragma once

#include <torch/torch.h>

#include <string>

/// Fashion-MNIST from its compressed IDX files, as examples/mnist_pytorch reads it.
struct Images {
  torch::Tensor images;  ///< [n, 1, 28, 28], normalised
  torch::Tensor labels;  ///< [n]
};

/// `part` is "train" or "t10k". Throws std::runtime_error that names a file which cannot be read.
Images read_idx(const std::string& directory, const std::string& part);
