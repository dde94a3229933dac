#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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
  bool is_loopback() const;       ///< whether it names the machine that asks
};

/// Reads an address as users write it: `http://` means port 80 and `https://` port 443 unless it says
/// another, no scheme means http and port 8080. User names, queries and
/// fragments are refused.
Result<Url> parse_url(std::string_view text);

/// The addresses of several masters on one database, separated by commas; each once.
Result<std::vector<Url>> parse_urls(std::string_view text);
std::string text_of(const std::vector<Url>& urls);

/// What a task's environment says: `master` is DET_MASTER, `all` is DET_MASTERS, which counts where it has
/// the other, and may be empty.
Result<std::vector<Url>> parse_urls(std::string_view master, std::string_view all);

}  // namespace det::http
