#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "det/checkpoint/files.h"

namespace det::checkpoint {

/// Runs `body` and turns its Failure into a result that says which checkpoint it was about.
template <typename Body>
auto guarded(const std::string& uuid, Body body) -> Result<std::invoke_result_t<Body&>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body&>>) {
      body();
      return {};
    } else {
      return body();
    }
  } catch (Failure& failure) {
    if (uuid.empty()) return tl::unexpected(std::move(failure.error));
    return tl::unexpected(std::move(failure.error).within("checkpoint " + uuid));
  }
}

/// Whether a checkpoint may have this name: 1 to 128 letters, digits and "-_.", the first of them no dot.
bool is_checkpoint_name(std::string_view name);

/// Throws Failure unless it may.
void check_name(const std::string& uuid);

}  // namespace det::checkpoint
