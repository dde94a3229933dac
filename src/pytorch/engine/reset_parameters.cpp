#include <torch/nn/modules.h>

#include "det/pytorch/context.h"

namespace det::pytorch {

namespace {

/// Draws anew if `module` is of one of these types.
template <typename... Types>
void reset_if(torch::nn::Module& module) {
  const auto one = [&]<typename Type>(std::type_identity<Type>) {
    if (auto* found = dynamic_cast<Type*>(&module)) found->reset_parameters();
  };
  (one(std::type_identity<Types>()), ...);
}

}  // namespace

void reset_parameters(torch::nn::Module& model) {
  using namespace torch::nn;
  for (const auto& module : model.modules())
    reset_if<LinearImpl, BilinearImpl, Conv1dImpl, Conv2dImpl, Conv3dImpl, ConvTranspose1dImpl,
             ConvTranspose2dImpl, ConvTranspose3dImpl, BatchNorm1dImpl, BatchNorm2dImpl, BatchNorm3dImpl,
             InstanceNorm1dImpl, InstanceNorm2dImpl, InstanceNorm3dImpl, LayerNormImpl, GroupNormImpl,
             EmbeddingImpl, EmbeddingBagImpl, RNNImpl, LSTMImpl, GRUImpl, RNNCellImpl, LSTMCellImpl,
             GRUCellImpl>(*module);
}

}  // namespace det::pytorch
