// Heads of requests and URLs from strangers: where a head ends does not depend on how its bytes arrived.
#include <cstdlib>

#include "det/http/server/head.h"
#include "det/http/url.h"

using det::http::HeadScanner;

namespace {

struct Scanned {
  std::optional<std::size_t> end;
  bool refused = false;
};

Scanned scan(std::string_view bytes, std::size_t step) {
  HeadScanner scanner{det::http::HeadLimits{}};
  for (std::size_t got = 0; got < bytes.size();) {
    got = std::min(bytes.size(), got + step);
    const auto end = scanner.scan(bytes.substr(0, got));
    if (scanner.fault()) return {std::nullopt, true};
    if (end) return {end, false};
  }
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = scan(bytes, size == 0 ? 1 : size);
  const auto trickled = scan(bytes, 1);
  if (whole.end && trickled.end && whole.end != trickled.end) std::abort();
  if (trickled.end && !whole.end) std::abort();
  if (whole.end) {
    if (*whole.end > size) std::abort();
    const auto fault = det::http::check_head(bytes.substr(0, *whole.end), det::http::HeadLimits{});
    if (fault && (fault->status < 400 || fault->status > 599 || fault->rule.empty())) std::abort();
  }
  if (const auto url = det::http::parse_url(bytes); !url && url.error().message().empty()) std::abort();
  return 0;
}
