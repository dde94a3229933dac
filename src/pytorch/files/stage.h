#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "det/pytorch/value.h"

namespace det::pytorch {

/// Copies the state of a trial, so that it can be written while the trial goes on.
///
/// The memory of the copy is kept for the next one, because to touch new memory costs more than to copy. So a
/// trial that saves in the background needs the memory of its state twice. In Python:
/// determined.pytorch._staging.
class Stage {
 public:
  /// A copy that shares no tensor, on the CPU. The former copy is lost. Nothing if there is too little
  /// memory: `free` is how many bytes the process may still use, where that is known.
  std::optional<std::vector<Value>> copy_of(const std::vector<Value>& values,
                                            std::optional<std::int64_t> free);

 private:
  Value copied(const Value& value);
  at::Tensor copied(const at::Tensor& tensor);

  std::multimap<std::int64_t, at::Tensor> buffers_;  ///< by their bytes
  std::vector<at::Tensor> used_;
};

}  // namespace det::pytorch
