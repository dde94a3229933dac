#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "det/pytorch/errors.h"

namespace det::pytorch {

/// A part of the experiment configuration, read by dotted names: `data.get<std::string>("train.directory")`.
///
/// A value that is missing or of another type is a UsageError that names the value, its type and the type
/// that was asked for. Whole numbers may be read as doubles, not the reverse; numbers must fit their type.
/// Elements of lists are read by number: `get<double>("betas.0")`.
///
/// Types: bool, any integer, float, double, std::string, std::vector of these, and Settings for a section.
/// Copies are cheap and share the values, which never change.
class DET_PYTORCH_API Settings {
 public:
  struct Node;  ///< defined where the configuration is read

  /// `what` is what messages call this part ("hyperparameter"), `where` where a user finds it
  /// ("hyperparameters").
  Settings(std::shared_ptr<const Node> node, std::string what, std::string where);
  Settings();  ///< Empty.

  /// Reads JSON text, which must be an object.
  static Settings from_json(const std::string& text, std::string what, std::string where);

  template <typename T>
  T get(const std::string& name) const {
    return find(name).read<T>();
  }
  /// The same, or `otherwise` where there is no such value, or null.
  template <typename T>
  T get(const std::string& name, T otherwise) const {
    return contains(name) ? find(name).read<T>() : otherwise;
  }

  /// Whether there is such a value and it is not null.
  bool contains(const std::string& name) const;
  /// The names in this part, in the order of the configuration.
  std::vector<std::string> names() const;
  std::size_t size() const;  ///< Names of a section or elements of a list.
  std::string json() const;

 private:
  Settings find(const std::string& name) const;
  [[noreturn]] void wrong_type(const char* wanted) const;
  [[noreturn]] void out_of_range(std::int64_t low, std::uint64_t high) const;
  bool read_bool() const;
  std::int64_t read_integer(std::int64_t low, std::uint64_t high) const;
  double read_number() const;
  std::string read_text() const;
  std::vector<Settings> read_list() const;

  template <typename T>
  struct is_vector : std::false_type {};
  template <typename T>
  struct is_vector<std::vector<T>> : std::true_type {};

  template <typename T>
  T read() const {
    if constexpr (std::is_same_v<T, Settings>) {
      return *this;
    } else if constexpr (std::is_same_v<T, bool>) {
      return read_bool();
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(read_integer(static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                                         static_cast<std::uint64_t>(std::numeric_limits<T>::max())));
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(read_number());
    } else if constexpr (std::is_same_v<T, std::string>) {
      return read_text();
    } else {
      static_assert(is_vector<T>::value, "bool, integers, float, double, std::string, std::vector, Settings");
      T list;
      for (const auto& element : read_list()) list.push_back(element.template read<typename T::value_type>());
      return list;
    }
  }

  std::shared_ptr<const Node> node_;
  std::string what_;
  std::string where_;
  std::string name_;  ///< dotted, from the top
};

}  // namespace det::pytorch
