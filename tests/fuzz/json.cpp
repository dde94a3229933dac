// JSON from strangers: what is accepted reads back from its own text as the same value.
#include <cstdlib>

#include "det/base/json.h"
#include "det/base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = det::json::parse(text, 64);
  if (!value) {
    if (value.error().message().empty()) std::abort();
    return 0;
  }
  const auto written = det::json::serialize(*value);
  if (!det::is_utf8(written)) std::abort();
  const auto again = det::json::parse(written, 64);
  if (!again || det::json::serialize(*again) != written) std::abort();
  return 0;
}
