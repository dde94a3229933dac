#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

namespace det::cli {

/// For an option's check: a whole number that is not less.
inline CLI::Validator at_least(std::int64_t least) {
  return CLI::Validator(
      [least](const std::string& text) -> std::string {
        std::int64_t number = 0;
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool too_large = failure == std::errc::result_out_of_range && !text.starts_with('-');
        if (too_large) return "it is " + text + "; it must be below 2^63";
        if (failure == std::errc::result_out_of_range || (failure == std::errc{} && number < least))
          return "it is " + text + "; it must be at least " + std::to_string(least);
        return "";  // what is no number is told by the option
      },
      "");
}

}  // namespace det::cli
