// A configuration from strangers: accepted with the same meaning when emitted, or refused with reasons.
#include <cstdlib>

#include "det/base/text.h"
#include "det/config/experiment_config.h"
#include "det/config/yaml/yaml.h"

namespace config = det::config;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto document = config::parse_yaml(text);
  if (document) {
    const auto emitted = config::emit_yaml(document->value);
    const auto again = config::parse_yaml(emitted);
    if (!again || again->value != document->value) std::abort();
  } else if (document.error().empty()) {
    std::abort();
  }
  config::Circumstances circumstances;
  circumstances.now = det::Time{1'600'000'000 * det::kSecond};
  circumstances.pet_name = "calm-grey-heron";
  const det::json::object master{
      {"checkpoint_storage", det::json::object{{"type", "shared_fs"}, {"host_path", "/var/det"}}}};
  const auto resolved = config::resolve({master, std::nullopt, text}, circumstances);
  if (!resolved) {
    if (resolved.error().empty()) std::abort();
    for (const auto& error : resolved.error())
      if (error.message().empty() || !det::is_utf8(error.message())) std::abort();
    return 0;
  }
  if (!config::from_document(resolved->config.document)) std::abort();
  return 0;
}
