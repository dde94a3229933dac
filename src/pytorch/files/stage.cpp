#include "det/pytorch/files/stage.h"

#include <ATen/ATen.h>

namespace det::pytorch {

namespace {

std::int64_t bytes_in(const Value& value) {
  std::int64_t bytes = 0;
  if (const auto* tensor = value.as<at::Tensor>())
    return tensor->defined() ? static_cast<std::int64_t>(tensor->nbytes()) : 0;
  if (const auto* list = value.as<List>())
    for (const auto& item : *list) bytes += bytes_in(item);
  if (const auto* dict = value.as<Dict>())
    for (const auto& [key, item] : dict->entries()) bytes += bytes_in(item);
  return bytes;
}

}  // namespace

std::optional<std::vector<Value>> Stage::copy_of(const std::vector<Value>& values,
                                                 std::optional<std::int64_t> free) {
  for (auto& buffer : used_) {
    const auto bytes = static_cast<std::int64_t>(buffer.nbytes());
    buffers_.emplace(bytes, std::move(buffer));
  }
  used_.clear();
  std::int64_t needed = 0;
  for (const auto& value : values) needed += bytes_in(value);
  for (const auto& [bytes, buffer] : buffers_) needed -= bytes;
  std::optional<std::vector<Value>> copies;
  if (!free || 2 * needed <= *free) {
    copies.emplace();
    for (const auto& value : values) copies->push_back(copied(value));
  }
  buffers_.clear();  // what this state did not need, the next one will not
  return copies;
}

Value Stage::copied(const Value& value) {
  if (const auto* tensor = value.as<at::Tensor>()) return copied(*tensor);
  if (const auto* list = value.as<List>()) {
    List copy;
    copy.reserve(list->size());
    for (const auto& item : *list) copy.push_back(copied(item));
    return copy;
  }
  if (const auto* dict = value.as<Dict>()) {
    Dict copy;
    copy.ordered = dict->ordered;
    for (const auto& [key, item] : dict->entries()) copy[key] = copied(item);
    return copy;
  }
  return value;
}

at::Tensor Stage::copied(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
  const auto known = buffers_.find(bytes);
  if (known == buffers_.end()) {
    used_.push_back(at::empty({bytes}, at::kByte));
  } else {
    used_.push_back(std::move(known->second));
    buffers_.erase(known);
  }
  // Of the same bytes, seen as what the tensor is.
  auto copy = at::from_blob(used_.back().data_ptr(), tensor.sizes(),
                            tensor.options().device(at::kCPU).requires_grad(false));
  copy.copy_(tensor.detach());
  return copy;
}

}  // namespace det::pytorch
