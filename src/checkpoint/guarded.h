#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "det/checkpoint/files.h"
#include "det/checkpoint/storage.h"

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

/// Throws Failure unless a checkpoint may have this name.
void check_name(const std::string& uuid);

}  // namespace det::checkpoint
