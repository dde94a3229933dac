// A policy learns to balance a pole on a cart (Barto, Sutton and Anderson 1983) by REINFORCE (Williams 1992).
// The simulation and the policy take turns thousands of times a batch: where an interpreter in the loop would
// be most of the time.
//
//     det experiment create examples/cartpole_cpp/const.yaml examples/cartpole_cpp
//
// From about 20 steps an episode to above 150 of 200 in 150 batches.
#include <det/pytorch.h>

#include <array>
#include <cmath>

namespace nn = torch::nn;

constexpr int kStepsMax = 200;

/// One cart. Euler's method, 0.02 s a step.
struct CartPole {
  std::array<float, 4> state;  ///< position, speed, angle, angular speed

  /// Pushes the cart right or left; false when the pole has fallen or the cart has left the track.
  bool step(bool right) {
    constexpr float kGravity = 9.8F, kCart = 1.0F, kPole = 0.1F, kHalfLength = 0.5F, kForce = 10.0F,
                    kTime = 0.02F;
    auto& [x, v, angle, spin] = state;
    const float force = right ? kForce : -kForce;
    const float sine = std::sin(angle), cosine = std::cos(angle);
    const float inner = (force + kPole * kHalfLength * spin * spin * sine) / (kCart + kPole);
    const float turn = (kGravity * sine - cosine * inner) /
                       (kHalfLength * (4.0F / 3.0F - kPole * cosine * cosine / (kCart + kPole)));
    const float push = inner - kPole * kHalfLength * turn * cosine / (kCart + kPole);
    x += kTime * v;
    v += kTime * push;
    angle += kTime * spin;
    spin += kTime * turn;
    return std::abs(x) < 2.4F && std::abs(angle) < 0.2095F;
  }
};

/// Where episodes begin; drawn by the batch's generator.
struct Beginnings {
  torch::Tensor get_batch(const std::vector<std::size_t>& episodes, at::Generator generator) const {
    return torch::rand({static_cast<std::int64_t>(episodes.size()), 4}, generator, torch::kFloat) * 0.1 -
           0.05;
  }
  std::size_t size() const { return count; }
  std::size_t count;
};

class CartPoleTrial final : public det::pytorch::PyTorchTrial<torch::Tensor> {
 public:
  explicit CartPoleTrial(TrialContext& trial_context) : PyTorchTrial(trial_context) {
    const auto hidden = context.get_hparam<int>("hidden");
    policy_ = context.wrap_model(nn::Sequential{nn::Linear(4, hidden), nn::Tanh(), nn::Linear(hidden, 2)});
    optimizer_ = context.wrap_optimizer(det::pytorch::Adam(
        policy_->parameters(), torch::optim::AdamOptions(context.get_hparam<double>("learning_rate"))));
  }

  DataLoader<torch::Tensor> build_training_data_loader() override { return beginnings(1600); }
  DataLoader<torch::Tensor> build_validation_data_loader() override { return beginnings(64); }

  /// Plays an episode from each beginning, then makes what went well more likely.
  Metrics train_batch(const torch::Tensor& starts, std::int64_t, std::int64_t) override {
    const auto played = play(starts, true);
    const auto chances = torch::log_softmax(policy_->forward(played.states), 1);
    const auto chosen = chances.gather(1, played.actions.unsqueeze(1)).squeeze(1);
    const auto advantage = (played.returns - played.returns.mean()) / (played.returns.std() + 1e-6);
    const auto loss = -(chosen * advantage).mean();
    context.backward(loss);
    context.step_optimizer(optimizer_);
    return {{"loss", loss}, {"steps", played.steps}};
  }
  Metrics evaluate_batch(const torch::Tensor& starts) override {
    return {{"steps", play(starts, false).steps}};
  }

 private:
  struct Played {
    torch::Tensor states;   ///< [moments, 4]
    torch::Tensor actions;  ///< [moments]
    torch::Tensor returns;  ///< [moments]: discounted steps that were still to come
    double steps = 0;       ///< of an episode, on average
  };

  DataLoader<torch::Tensor> beginnings(std::size_t count) {
    return DataLoader<torch::Tensor>(Beginnings{count}, {.batch_size = context.get_per_slot_batch_size()});
  }

  Played play(const torch::Tensor& starts, bool by_chance) {
    const torch::NoGradGuard no_grad;
    const double discount = context.get_hparam<double>("discount");
    std::vector<float> states;
    std::vector<std::int64_t> actions;
    std::vector<float> returns;
    const auto moves = torch::rand({starts.size(0), kStepsMax});
    for (std::int64_t episode = 0; episode < starts.size(0); ++episode) {
      CartPole cart{};
      std::copy_n(starts[episode].contiguous().const_data_ptr<float>(), 4, cart.state.begin());
      const auto begin = returns.size();
      bool up = true;
      for (int step = 0; step < kStepsMax && up; ++step) {
        const auto output = torch::softmax(policy_->forward(torch::from_blob(cart.state.data(), {1, 4})), 1);
        const float right = output.const_data_ptr<float>()[1];
        const bool action = (by_chance ? moves[episode][step].item<float>() : 0.5F) < right;
        states.insert(states.end(), cart.state.begin(), cart.state.end());
        actions.push_back(action ? 1 : 0);
        returns.push_back(0);
        up = cart.step(action);
      }
      double after = 0;
      for (auto i = returns.size(); i-- > begin;)
        returns[i] = static_cast<float>(after = 1 + discount * after);
    }
    const auto count = static_cast<std::int64_t>(actions.size());
    return {.states = torch::tensor(states).reshape({count, 4}),
            .actions = torch::tensor(actions),
            .returns = torch::tensor(returns),
            .steps = static_cast<double>(count) / static_cast<double>(starts.size(0))};
  }

  nn::Sequential policy_{nullptr};
  std::shared_ptr<det::pytorch::Adam> optimizer_;
};

DET_TRIAL(CartPoleTrial)
