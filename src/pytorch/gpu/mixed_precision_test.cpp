#include "det/pytorch/mixed_precision.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace det::pytorch {
namespace {

TEST(Autocast, ForwardPassesAreComputedInSixteenBitsAndNothingElseIs) {
  torch::nn::Linear layer(4, 2);
  const auto input = torch::ones({3, 4});
  {
    const Autocast autocast(torch::kCPU);
    EXPECT_EQ(layer->forward(input).scalar_type(), torch::kBFloat16);
    const Autocast off(torch::kCPU, false);
    EXPECT_EQ(layer->forward(input).scalar_type(), torch::kFloat);
  }
  EXPECT_EQ(layer->forward(input).scalar_type(), torch::kFloat);
  EXPECT_EQ(layer->weight.scalar_type(), torch::kFloat);
}

struct Scaled {
  at::Tensor parameter = torch::ones({2}).requires_grad_();
  torch::optim::SGD optimizer{{parameter}, torch::optim::SGDOptions(1)};
  GradScaler scaler{{.init_scale = 8, .growth_interval = 2}};

  bool step(double factor) {
    optimizer.zero_grad();
    scaler.scale((parameter * factor).sum()).backward();
    const bool stepped = scaler.step(optimizer);
    scaler.update();
    return stepped;
  }
};

TEST(GradScaler, AScaledLossChangesParametersAsItWouldWithoutIt) {
  Scaled s;
  EXPECT_TRUE(s.step(0.25));
  EXPECT_EQ(s.parameter[0].item<double>(), 0.75);
  EXPECT_EQ(s.scaler.get_scale(), 8);
  EXPECT_TRUE(s.step(0.25));
  EXPECT_EQ(s.scaler.get_scale(), 16);  // after growth_interval good steps
}

TEST(GradScaler, AStepWhoseGradientsOverflowIsSkippedAndTheScaleHalved) {
  Scaled s;
  EXPECT_FALSE(s.step(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(s.parameter[0].item<double>(), 1);
  EXPECT_EQ(s.scaler.get_scale(), 4);
}

TEST(GradScaler, ItsStateGoesOnWhereItWas) {
  Scaled s;
  s.step(0.25);
  GradScaler other;
  other.load_state_dict(s.scaler.state_dict());
  EXPECT_EQ(other.get_scale(), 8);
  EXPECT_EQ(other.state_dict().at("_growth_tracker").integer(), 1);
}

}  // namespace
}  // namespace det::pytorch
