#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace det {

/// What the caller can do about a failure. Each code maps to one HTTP status
/// (http/routing/status.h) and one CLI exit code; detail belongs in the message.
enum class ErrorCode {
  InvalidArgument,     ///< The request is wrong. Fix it; retrying will not help.
  Unauthenticated,     ///< Nobody is logged in, or the token is dead.
  NotFound,            ///< The thing named does not exist.
  AlreadyExists,       ///< The thing named exists already.
  FailedPrecondition,  ///< Right request, wrong state: pausing a finished experiment.
  PermissionDenied,    ///< The caller may not do this.
  ResourceExhausted,   ///< No slots, no space, over quota. Waiting may help.
  Gone,                ///< The allocation that asks is over: stop.
  Unimplemented,       ///< No such operation here.
  Unavailable,         ///< A peer or disk did not answer. Retry with backoff.
  Internal,            ///< An invariant of ours broke. A bug: report it.
};

/// A failure that a caller is expected to handle.
///
/// The message is a sentence for the person who runs the platform: it names
/// the thing, the value and the rule ("searcher.max_trials is 0; must be at
/// least 1"), and never a C++ identifier.
class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }

  /// Says where the error happened, outermost first: "hyperparameters.lr: ...".
  Error within(std::string_view context) && {
    message_.insert(0, fmt::format("{}: ", context));
    return std::move(*this);
  }

  friend bool operator==(const Error&, const Error&) = default;

 private:
  ErrorCode code_;
  std::string message_;
};

template <typename T>
using Result = tl::expected<T, Error>;

/// `return fail(ErrorCode::NotFound, "trial {} not found", id);`
template <typename... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error(code, fmt::format(format, std::forward<Args>(args)...)));
}

template <typename... Args>
tl::unexpected<Error> invalid_argument(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::InvalidArgument, format, std::forward<Args>(args)...);
}

template <typename... Args>
tl::unexpected<Error> not_found(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::NotFound, format, std::forward<Args>(args)...);
}

template <typename... Args>
tl::unexpected<Error> failed_precondition(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::FailedPrecondition, format, std::forward<Args>(args)...);
}

/// Several problems as one error, a line each, in the order given. Requires: not empty.
Error join_errors(const std::vector<Error>& errors);

/// DET_TRY(auto config, parse(text)): on failure returns the error to the
/// caller, otherwise declares `config` holding the value. DET_CO_TRY is the
/// same inside a coroutine.
#define DET_CONCAT_(a, b) a##b
#define DET_CONCAT(a, b) DET_CONCAT_(a, b)
#define DET_TRY(declaration, ...) DET_TRY_(DET_CONCAT(det_try_, __LINE__), declaration, __VA_ARGS__)
#define DET_TRY_(result, declaration, ...)                       \
  auto result = (__VA_ARGS__);                                   \
  if (!result) return tl::unexpected(std::move(result).error()); \
  declaration = *std::move(result)
#define DET_CO_TRY(declaration, ...) DET_CO_TRY_(DET_CONCAT(det_try_, __LINE__), declaration, __VA_ARGS__)
#define DET_CO_TRY_(result, declaration, ...)                       \
  auto result = (__VA_ARGS__);                                      \
  if (!result) co_return tl::unexpected(std::move(result).error()); \
  declaration = *std::move(result)

/// A broken invariant of ours, never something that a user or peer can cause.
/// On in all builds: prints the condition and its place, and ends the process.
#define DET_ASSERT(condition) \
  ((condition) ? void(0) : ::det::assertion_failed(#condition, __FILE__, __LINE__))

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace det
