#include "det/pytorch/ranks/gradients.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>

#include <map>
#include <set>
#include <sstream>

#include "det/pytorch/errors.h"
#include "det/pytorch/ranks/watch.h"

namespace det::pytorch {

namespace {

constexpr std::size_t kBucketBytes = std::size_t{25} << 20;

/// Tells the exchange that a parameter's gradient is complete for this backward pass.
class Came final : public torch::autograd::PostAccumulateGradHook {
 public:
  Came(GradientExchange& exchange, std::size_t bucket) : exchange_(exchange), bucket_(bucket) {}
  void operator()(const torch::autograd::Variable& parameter) override {
    exchange_.came(bucket_, parameter.unsafeGetTensorImpl());
  }

 private:
  GradientExchange& exchange_;
  std::size_t bucket_;
};

}  // namespace

/// Parameters of one device and type, whose gradients travel as one tensor. The last has, behind them, a
/// number for each parameter of all buckets: on how many ranks it has a gradient.
struct GradientExchange::Bucket {
  std::vector<at::Tensor> parameters;
  c10::ScalarType type = c10::kFloat;
  at::Tensor flat;
  at::Tensor presence;
  std::vector<at::Tensor> views;
  std::unique_ptr<Ranks::Sum> sum;
  std::set<const void*> missing;  ///< Of parameters whose gradient this backward pass has not brought yet.

  void fill(std::int64_t extra) {
    std::int64_t count = 0;
    for (const auto& parameter : parameters) count += parameter.numel();
    flat = at::zeros({count + extra}, parameters[0].options().dtype(type).requires_grad(false));
    presence = flat.narrow(0, count, extra);
    std::int64_t at = 0;
    for (const auto& parameter : parameters) {
      views.push_back(flat.narrow(0, at, parameter.numel()).view(parameter.sizes()));
      at += parameter.numel();
    }
  }
};

GradientExchange::GradientExchange(std::shared_ptr<torch::optim::Optimizer> optimizer, Ranks& ranks,
                                   bool compress)
    : optimizer_(std::move(optimizer)), ranks_(ranks), compress_(compress) {}

GradientExchange::~GradientExchange() {
  armed_ = false;
  for (const auto& parameter : known_) torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
}

std::vector<at::Tensor> GradientExchange::current() const {
  std::vector<at::Tensor> found;
  std::set<const void*> seen;
  for (const auto& group : optimizer_->param_groups())
    for (const auto& parameter : group.params())
      if ((parameter.requires_grad() || parameter.grad().defined()) &&
          seen.insert(parameter.unsafeGetTensorImpl()).second)
        found.push_back(parameter);
  return found;
}

void GradientExchange::lay_out() {
  auto parameters = current();
  if (std::ranges::equal(parameters, known_, [](const auto& a, const auto& b) { return a.is_same(b); }))
    return;
  for (const auto& parameter : known_) torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  known_ = std::move(parameters);
  buckets_.clear();
  // The gradients of the last layers come first.
  std::map<std::pair<std::string, c10::ScalarType>, std::pair<Bucket*, std::size_t>> filled;
  for (auto at = known_.rbegin(); at != known_.rend(); ++at) {
    const auto type = compress_ && at->scalar_type() == c10::kFloat ? c10::kHalf : at->scalar_type();
    auto& [bucket, used] = filled[{at->device().str(), type}];
    if (bucket == nullptr || used + at->nbytes() > kBucketBytes) {
      bucket = buckets_.emplace_back(std::make_unique<Bucket>()).get();
      bucket->type = type;
      used = 0;
    }
    bucket->parameters.push_back(*at);
    used += at->nbytes();
  }
  for (const auto& bucket : buckets_)
    bucket->fill(bucket == buckets_.back() ? static_cast<std::int64_t>(known_.size()) : 0);
  if (buckets_.size() < 2) return;
  for (std::size_t number = 0; number < buckets_.size(); ++number)
    for (const auto& parameter : buckets_[number]->parameters)
      if (parameter.requires_grad())
        torch::autograd::impl::set_post_acc_grad_hooks(parameter, std::make_unique<Came>(*this, number));
}

void GradientExchange::came(std::size_t number, const void* parameter) {
  if (!armed_) return;
  if (number < next_) {
    dirty_ = true;
    return;
  }
  buckets_[number]->missing.erase(parameter);
  while (next_ + 1 < buckets_.size() && buckets_[next_]->missing.empty()) send(*buckets_[next_++]);
}

void GradientExchange::begin_batch(bool update) {
  if (buckets_.size() < 2) return;
  forget();
  armed_ = update;
}

void GradientExchange::forget() {
  for (const auto& bucket : buckets_) {
    receive(*bucket);
    bucket->missing.clear();
    for (const auto& parameter : bucket->parameters)
      if (parameter.requires_grad()) bucket->missing.insert(parameter.unsafeGetTensorImpl());
  }
  next_ = 0;
  dirty_ = false;
}

void GradientExchange::send(Bucket& bucket) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < bucket.parameters.size(); ++i) {
    const auto& gradient = bucket.parameters[i].grad();
    if (!gradient.defined())
      bucket.views[i].zero_();
    else if (gradient.is_sparse())
      throw UsageError(
          "a parameter has a sparse gradient; on several slots, use sparse(false) in embeddings");
    else
      bucket.views[i].copy_(gradient);
  }
  bucket.flat.div_(static_cast<double>(ranks_.place().size));
  bucket.sum = ranks_.sum(bucket.flat);
}

void GradientExchange::receive(Bucket& bucket) {
  if (!bucket.sum) return;
  bucket.sum->wait();
  bucket.sum.reset();
}

void GradientExchange::run() {
  const at::NoGradGuard no_grad;
  armed_ = false;
  auto early = next_;
  if (dirty_) {
    early = 0;
    for (const auto& bucket : buckets_) receive(*bucket);
  } else if (early == 0) {
    lay_out();
  }
  ++runs_;
  done = true;
  if (buckets_.empty()) return;
  const Watch::Waiting waiting(ranks_.watch(), "the exchange of gradients");
  for (auto number = early; number + 1 < buckets_.size(); ++number) send(*buckets_[number]);
  auto& last = *buckets_.back();
  const auto everywhere = static_cast<double>(ranks_.place().size);
  last.presence.fill_(everywhere);
  std::int64_t index = 0;
  for (const auto& bucket : buckets_)
    for (const auto& parameter : bucket->parameters) {
      if (!parameter.grad().defined()) last.presence[index].fill_(0.0);
      ++index;
    }
  send(last);
  for (const auto& bucket : buckets_) receive(*bucket);
  write_back();
  next_ = 0;
  dirty_ = false;
}

void GradientExchange::write_back() {
  at::Tensor elsewhere;  // read only where it is needed
  std::int64_t index = 0;
  for (const auto& bucket : buckets_) {
    for (std::size_t i = 0; i < bucket->parameters.size(); ++i, ++index) {
      auto& parameter = bucket->parameters[i];
      if (parameter.grad().defined()) {
        parameter.mutable_grad().copy_(bucket->views[i]);
        continue;
      }
      if (!elsewhere.defined()) elsewhere = buckets_.back()->presence.to(at::kCPU, at::kDouble);
      if (elsewhere[index].item<double>() > 0)
        parameter.mutable_grad() = bucket->views[i].to(parameter.scalar_type(), false, /*copy=*/true);
    }
  }
}

void equalise(const std::vector<std::shared_ptr<torch::nn::Module>>& models, Ranks& ranks) {
  std::ostringstream shapes;
  std::vector<at::Tensor> tensors;
  const auto add = [&](const auto& named) {
    for (const auto& item : named) {
      shapes << item.key() << ' ' << item.value().sizes() << ' ' << item.value().scalar_type() << '\n';
      tensors.push_back(item.value().detach());
    }
  };
  for (const auto& model : models) {
    add(model->named_parameters());
    add(model->named_buffers());
  }
  const auto all = ranks.allgather(shapes.str(), "the comparison of the models");
  std::string others;
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0]) others += (others.empty() ? "" : ", ") + std::to_string(rank);
  if (!others.empty())
    throw UsageError(
        "the models on rank " + others +
        " differ from those on rank 0; every rank must build the same models with the same parameters");
  if (!tensors.empty()) ranks.spread(tensors);
}

}  // namespace det::pytorch
