#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "det/pytorch/errors.h"

namespace det::pytorch {

class Value;
using List = std::vector<Value>;

/// A map that keeps the order of its entries, as Python's do. Keys are texts or whole numbers.
class DET_PYTORCH_API Dict {
 public:
  using Key = std::variant<std::string, std::int64_t>;
  using Entry = std::pair<Key, Value>;

  Value& operator[](const Key& key);  ///< Adds it where it is missing.
  const Value* find(const Key& key) const;
  const Value& at(
      const Key& key) const;  ///< Missing: UsageError that names the key and those that there are.
  bool contains(const Key& key) const { return find(key) != nullptr; }
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  const std::vector<Entry>& entries() const { return entries_; }

  bool ordered = false;  ///< Written as collections.OrderedDict, as module.state_dict() is in Python.

 private:
  std::vector<Entry> entries_;
};

/// Saved state: None, numbers, text, tensors, lists and dicts of them. What a file `.pth` of PyTorch holds.
class DET_PYTORCH_API Value {
 public:
  /// A Python object that has no counterpart here; kept by its type's name only.
  struct Foreign {
    std::string type;
  };

  Value() = default;
  Value(bool value) : held_(value) {}
  template <typename T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  Value(T value) : held_(static_cast<std::int64_t>(value)) {}
  Value(double value) : held_(value) {}
  Value(const char* text) : held_(std::string(text)) {}
  Value(std::string text) : held_(std::move(text)) {}
  Value(at::Tensor tensor) : held_(std::move(tensor)) {}
  Value(List list) : held_(std::move(list)) {}
  Value(Dict dict) : held_(std::move(dict)) {}
  Value(Foreign foreign) : held_(std::move(foreign)) {}

  bool is_none() const { return std::holds_alternative<std::monostate>(held_); }
  template <typename T>
  const T* as() const {
    return std::get_if<T>(&held_);
  }
  template <typename T>
  T* as() {
    return std::get_if<T>(&held_);
  }

  // Each is a UsageError that names what is there instead.
  bool boolean() const;
  std::int64_t integer() const;
  double number() const;  ///< A whole number, too, and a tensor with one element.
  const std::string& text() const;
  const at::Tensor& tensor() const;
  const List& list() const;
  const Dict& dict() const;

  const char* kind() const;  ///< "a dict", "a tensor", …

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, at::Tensor, List, Dict, Foreign>
      held_;
};

/// Writes `value` as torch.save does: `torch.load` reads it, also with weights_only=True.
DET_PYTORCH_API void save_value(const Value& value, const std::string& path);

/// The same in memory, and back.
DET_PYTORCH_API std::string to_bytes(const Value& value);
DET_PYTORCH_API Value from_bytes(const std::string& bytes);

/// Reads a file of torch.save or save_value; tensors are on the CPU. Objects of other Python types come as
/// Value::Foreign. Runs no code of the file, and refuses one that is damaged (UsageError, names the file).
DET_PYTORCH_API Value load_value(const std::string& path);

}  // namespace det::pytorch
