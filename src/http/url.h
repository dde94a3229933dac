#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "det/base/error.h"

namespace det::http {

/// Where a master is.
struct Url {
  std::string host;  ///< A name or an address; IPv6 without brackets.
  std::uint16_t port = 8080;
  bool tls = false;    ///< https
  std::string prefix;  ///< Of every path, without a final "/"; mostly empty.

  std::string text() const;       ///< "http://localhost:8080", "https://…"
  std::string authority() const;  ///< "localhost:8080", as the Host header says it
};

/// Reads an address as users write it: `http://` means port 80 and `https://` port 443 unless it says
/// another, no scheme means http and port 8080. User names, queries and
/// fragments are refused.
Result<Url> parse_url(std::string_view text);

}  // namespace det::http
