#pragma once

#include <exception>
#include <utility>

#include "det/base/error.h"

namespace det::pytorch {

/// Why a loop cannot go on: what the platform answered, not what the trial's code threw.
struct LoopFailure : std::exception {
  explicit LoopFailure(Error why) : error(std::move(why)) {}
  const char* what() const noexcept override { return error.message().c_str(); }
  Error error;
};

/// What a call of the platform's gave; its error as LoopFailure.
template <typename T>
T must(Result<T> result) {
  if (!result) throw LoopFailure(std::move(result).error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace det::pytorch
