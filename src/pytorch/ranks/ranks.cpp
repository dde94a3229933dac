#include "det/pytorch/ranks/ranks.h"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <cstring>
#include <functional>
#include <map>

#include "det/pytorch/gpu/gpu_parts.h"
#include "det/pytorch/ranks/store_parts.h"
#include "det/pytorch/ranks/watch.h"

namespace det::pytorch {

namespace {

using Group = c10::intrusive_ptr<c10d::Backend>;
constexpr std::chrono::hours kForEver{24 * 365};

/// What goes wrong in an exchange is the loss of another rank: all ranks make the same calls.
template <typename Body>
auto exchanging(const Body& body) {
  try {
    return body();
  } catch (const c10::Error& error) {
    throw RankLost(error.what_without_backtrace());
  } catch (const std::exception& error) {
    throw RankLost(error.what());
  }
}

Group connect(const c10::intrusive_ptr<c10d::Store>& store, const char* name, const Place& place,
              const std::string& interface, std::chrono::milliseconds timeout) {
  return exchanging([&] {
    auto options = c10d::ProcessGroupGloo::Options::create(timeout);
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface(interface));
    return Group(c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>(name, store), static_cast<int>(place.rank),
        static_cast<int>(place.size), options));
  });
}

at::Tensor to_tensor(const std::string& text) {
  auto tensor = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  if (!text.empty()) std::memcpy(tensor.mutable_data_ptr(), text.data(), text.size());
  return tensor;
}

std::string to_text(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), static_cast<std::size_t>(tensor.numel())};
}

class WorkSum final : public Ranks::Sum {
 public:
  explicit WorkSum(c10::intrusive_ptr<c10d::Work> work) : work_(std::move(work)) {}
  void wait() override {
    exchanging([this] { work_->wait(); });
  }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
};

}  // namespace

struct Ranks::Groups {
  Group tensors;
  Group values;
  std::function<Group(const GpuParts&)> connect_gpus;
  Group gpus;

  /// Tensors on GPUs travel by NCCL where it is there. All ranks come here with the same tensors.
  c10d::Backend& of(const at::Tensor& tensor) {
    if (!tensor.is_cuda()) return *tensors;  // not a word about GPUs before there is one: answers are kept
    const auto* parts = gpu_parts();
    if (parts == nullptr) return *tensors;
    if (!gpus) gpus = connect_gpus(*parts);
    return *gpus;
  }
};

Ranks::Ranks(Store& store, Place place, Watch& watch, const std::string& interface,
             std::chrono::milliseconds timeout)
    : place_(std::move(place)), watch_(watch), groups_(std::make_unique<Groups>()) {
  const Watch::Waiting waiting(watch, "the connection of the ranks");
  const auto& keys = store.parts().store;
  groups_->tensors = connect(keys, "group", place_, interface, timeout);
  groups_->values = connect(keys, "values", place_, interface, kForEver);
  groups_->connect_gpus = [this, keys, timeout](const GpuParts& gpu) {
    return exchanging([&] {
      return gpu.connect(c10::make_intrusive<c10d::PrefixStore>("gpus", keys), static_cast<int>(place_.rank),
                         static_cast<int>(place_.size), timeout);
    });
  };
}

Ranks::~Ranks() = default;

std::vector<std::string> Ranks::allgather(const std::string& value, const char* what) {
  const Watch::Waiting waiting(watch_, what);
  return exchanging([&] {
    auto& group = *groups_->values;
    // Lengths first: Gloo wants to know how much comes.
    std::vector<std::vector<at::Tensor>> lengths(1);
    for (std::int64_t rank = 0; rank < place_.size; ++rank) lengths[0].push_back(at::zeros({1}, at::kLong));
    std::vector<at::Tensor> mine{at::full({1}, static_cast<std::int64_t>(value.size()), at::kLong)};
    group.allgather(lengths, mine)->wait();
    std::int64_t longest = 1;
    for (const auto& length : lengths[0]) longest = std::max(longest, length.item<std::int64_t>());
    std::vector<std::vector<at::Tensor>> arrived(1);
    for (std::int64_t rank = 0; rank < place_.size; ++rank)
      arrived[0].push_back(at::empty({longest}, at::kByte));
    std::vector<at::Tensor> padded{at::zeros({longest}, at::kByte)};
    padded[0].narrow(0, 0, static_cast<std::int64_t>(value.size())).copy_(to_tensor(value));
    group.allgather(arrived, padded)->wait();
    std::vector<std::string> values;
    for (std::size_t rank = 0; rank < arrived[0].size(); ++rank)
      values.push_back(to_text(arrived[0][rank].narrow(0, 0, lengths[0][rank].item<std::int64_t>())));
    return values;
  });
}

std::vector<std::string> Ranks::gather(const std::string& value, const char* what) {
  auto values = allgather(value, what);
  if (place_.rank != 0) values.clear();
  return values;
}

std::string Ranks::from_first(const std::string& value) {
  return exchanging([&] {
    auto& group = *groups_->values;
    std::vector<at::Tensor> length{at::full({1}, static_cast<std::int64_t>(value.size()), at::kLong)};
    group.broadcast(length)->wait();
    const auto count = length[0].item<std::int64_t>();
    if (count == 0) return std::string();
    std::vector<at::Tensor> bytes{place_.rank == 0 ? to_tensor(value) : at::empty({count}, at::kByte)};
    group.broadcast(bytes)->wait();
    return to_text(bytes[0]);
  });
}

std::string Ranks::broadcast(const std::string& value, const char* what) {
  const Watch::Waiting waiting(watch_, what);
  return from_first(value);
}

std::string Ranks::announce(const std::string& value) {
  return from_first(value);
}

std::unique_ptr<Ranks::Sum> Ranks::sum(const at::Tensor& tensor) {
  return exchanging([&]() -> std::unique_ptr<Sum> {
    std::vector<at::Tensor> tensors{tensor};
    return std::make_unique<WorkSum>(groups_->of(tensor).allreduce(tensors));
  });
}

void Ranks::spread(const std::vector<at::Tensor>& tensors) {
  const Watch::Waiting waiting(watch_, "the exchange of buffers");
  const at::NoGradGuard no_grad;
  // One message for each type: statistics of batch normalisation are many and small.
  std::map<std::pair<at::ScalarType, std::string>, std::vector<at::Tensor>> by_type;
  for (const auto& tensor : tensors)
    if (tensor.numel() > 0) by_type[{tensor.scalar_type(), tensor.device().str()}].push_back(tensor.detach());
  for (auto& [type, members] : by_type) {
    std::vector<at::Tensor> flat;
    for (const auto& member : members) flat.push_back(member.reshape({-1}));
    std::vector<at::Tensor> message{at::cat(flat)};
    exchanging([&] { groups_->of(message[0]).broadcast(message)->wait(); });
    if (place_.rank == 0) continue;
    std::int64_t at = 0;
    for (auto& member : members) {
      member.copy_(message[0].narrow(0, at, member.numel()).view(member.sizes()));
      at += member.numel();
    }
  }
}

}  // namespace det::pytorch
