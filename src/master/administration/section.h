#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "det/base/error.h"
#include "det/master/administration/settings.h"

namespace det::master {

/// Seconds of "90", "5m", "1h30m", "MM:SS", "HH:MM:SS" or Slurm's "D-HH:MM:SS"; nothing where it is no time.
std::optional<std::int64_t> time_span(std::string_view text);

/// Reads the members of one map, each once; what is left over is unknown.
class Section {
 public:
  Section(json::value value, std::string path, std::vector<Error>& problems)
      : path_(std::move(path)), problems_(problems) {
    if (value.is_object())
      members_ = std::move(value.get_object());
    else if (!value.is_null())
      problem("", fmt::format("is {}; it must be a map", json::serialize(value)));
  }
  ~Section() {
    for (const auto& member : members_) problem(std::string(member.key()), "is not a known setting");
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  json::value take(std::string_view name) { return master::take(members_, name); }
  void text(std::string_view name, std::string& into) {
    const auto value = take(name);
    if (value.is_string())
      into = std::string(value.get_string());
    else if (!value.is_null())
      problem(name, fmt::format("is {}; it must be a string", json::serialize(value)));
  }
  /// Seconds: 90, "90", "5m", "1h30m", "04:00:00" or "2-00:00:00".
  void seconds(std::string_view name, std::int64_t low, std::int64_t& into) {
    const auto value = take(name);
    if (value.is_null()) return;
    auto number = json::to_int64(value);
    if (value.is_string()) number = time_span(value.get_string());
    if (number && *number >= low)
      into = *number;
    else
      problem(name, fmt::format("is {}; it must be a time of at least {} s, such as 5m, 04:00:00 or 90",
                                json::serialize(value), low));
  }
  void texts(std::string_view name, std::vector<std::string>& into) {
    const auto value = take(name);
    if (value.is_null()) return;
    bool fine = value.is_array();
    if (fine)
      for (const auto& item : value.get_array()) {
        fine = fine && item.is_string();
        if (fine) into.emplace_back(item.get_string());
      }
    if (!fine) problem(name, fmt::format("is {}; it must be a list of strings", json::serialize(value)));
  }
  void flag(std::string_view name, bool& into) {
    const auto value = take(name);
    if (value.is_bool())
      into = value.get_bool();
    else if (!value.is_null())
      problem(name, fmt::format("is {}; it must be true or false", json::serialize(value)));
  }
  void integer(std::string_view name, int low, int high, int& into) {
    const auto value = take(name);
    if (value.is_null()) return;
    const auto number = json::to_int64(value);
    if (number && *number >= low && *number <= high)
      into = static_cast<int>(*number);
    else
      problem(name,
              fmt::format("is {}; it must be an integer from {} to {}", json::serialize(value), low, high));
  }
  void number(std::string_view name, double low, double& into) {
    const auto value = take(name);
    if (value.is_null()) return;
    if (const auto number = json::to_double(value); number && *number >= low)
      into = *number;
    else
      problem(name, fmt::format("is {}; it must be a number of at least {}", json::serialize(value), low));
  }
  template <typename T>
  void choice(std::string_view name, std::initializer_list<std::pair<const char*, T>> choices, T& into,
              bool required = false) {
    std::string word;
    text(name, word);
    if (word.empty() && !required) return;
    std::string known;
    for (const auto& [key, value] : choices) {
      if (word == key) {
        into = value;
        return;
      }
      known += (known.empty() ? "" : ", ") + std::string(key);
    }
    problem(name, word.empty() ? fmt::format("is required; it must be one of {}", known)
                               : fmt::format("is '{}'; it must be one of {}", word, known));
  }
  void problem(std::string_view name, const std::string& what) {
    const auto where = name.empty() ? path_ : fmt::format("{}.{}", path_, name);
    problems_.push_back(invalid_argument("{} {}", where, what).value());
  }
  const std::string& path() const { return path_; }

 private:
  json::object members_;
  std::string path_;
  std::vector<Error>& problems_;
};

}  // namespace det::master
