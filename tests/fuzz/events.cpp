// What somebody's program calls an event of TensorBoard: read as far as it makes sense, else refused.
#include <cstdlib>
#include <string_view>

#include "det/media/media_values.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace det::media;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto event = read_event(bytes);
  if (!event) return 0;
  for (const auto& found : event->values) {
    if (found.offset + found.length > size) std::abort();
    const auto content = read_value(found.kind, bytes.substr(found.offset, found.length));
    if (!content) continue;
    const auto& [edges, counts] = content->histogram;
    if (!counts.empty() && edges.size() != counts.size() + 1) std::abort();
  }
  return 0;
}
