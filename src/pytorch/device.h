#pragma once

#include <ATen/core/Tensor.h>
#include <torch/data/example.h>

#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace det::pytorch {

// What a batch is made of, moved to a device. For a type of your own, write `to_device(T& batch,
// c10::Device)` beside it.

inline void to_device(at::Tensor& tensor, c10::Device device) {
  if (tensor.defined() && tensor.device() != device) tensor = tensor.to(device, /*non_blocking=*/true);
}
template <typename T>
  requires std::is_arithmetic_v<T>
void to_device(T&, c10::Device) {}
template <typename Data, typename Target>
void to_device(torch::data::Example<Data, Target>& example, c10::Device device);
template <typename... T>
void to_device(std::tuple<T...>& parts, c10::Device device);
template <typename T>
void to_device(std::vector<T>& parts, c10::Device device);
template <typename K, typename T>
void to_device(std::map<K, T>& parts, c10::Device device);

template <typename Data, typename Target>
void to_device(torch::data::Example<Data, Target>& example, c10::Device device) {
  to_device(example.data, device);
  if constexpr (!std::is_void_v<Target>) to_device(example.target, device);
}
template <typename... T>
void to_device(std::tuple<T...>& parts, c10::Device device) {
  std::apply([device](auto&... part) { (to_device(part, device), ...); }, parts);
}
template <typename T>
void to_device(std::vector<T>& parts, c10::Device device) {
  for (auto& part : parts) to_device(part, device);
}
template <typename K, typename T>
void to_device(std::map<K, T>& parts, c10::Device device) {
  for (auto& [key, part] : parts) to_device(part, device);
}

}  // namespace det::pytorch
