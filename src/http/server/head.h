#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace det::http {

/// Why a request's head is refused, and with which status.
struct HeadFault {
  int status = 400;
  std::string rule;
};

struct HeadLimits {
  std::size_t uri_max = 8 * 1024;
  std::size_t headers_max = 16 * 1024;
  std::size_t fields_max = 100;
};

/// Finds the end of a request's head as its bytes arrive, and refuses early
/// what can never become one.
class HeadScanner {
 public:
  explicit HeadScanner(const HeadLimits& limits) : limits_(limits) {}

  /// `bytes` is everything since the request's first byte; it only grows.
  /// The length of the head with its final empty line, once it is there.
  std::optional<std::size_t> scan(std::string_view bytes);
  /// What is wrong already.
  const std::optional<HeadFault>& fault() const { return fault_; }

 private:
  void refuse(int status, std::string rule);

  HeadLimits limits_;
  std::size_t scanned_ = 0;
  std::size_t request_line_ = 0;  // its length with CRLF; 0: not yet complete
  std::optional<HeadFault> fault_;
};

/// Checks a complete head against RFC 9112, strictly: whatever two programs
/// could read in two ways is refused, so that a proxy in front of us and we
/// always agree on where a request ends.
std::optional<HeadFault> check_head(std::string_view head, const HeadLimits& limits);

}  // namespace det::http
