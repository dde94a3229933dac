#include "det/checkpoint/manifest.h"

#include "det/base/json.h"
#include "det/checkpoint/files.h"

namespace det::checkpoint {

std::string encode(const Manifest& manifest) {
  return json::serialize(json::to_json(manifest)) + "\n";
}

Result<Manifest> decode(const std::string& text) {
  DET_TRY(const auto parsed, json::parse(text));
  DET_TRY(auto manifest, json::from_json<Manifest>(parsed));
  if (manifest.version != 1)
    return failed_precondition("the manifest has version {}; this release reads version 1", manifest.version);
  for (const auto& [name, file] : manifest.files)
    if (!is_member_name(name) || name.ends_with('/') || file.size < 0)
      return failed_precondition("the manifest names \"{}\", which is not a file of a checkpoint", name);
  for (const auto& name : manifest.directories)
    if (!is_member_name(name) || !name.ends_with('/'))
      return failed_precondition("the manifest names \"{}\", which is not a directory of a checkpoint", name);
  return manifest;
}

Resources resources(const Manifest& manifest) {
  Resources result;
  for (const auto& [name, file] : manifest.files) result[name] = file.size;
  for (const auto& name : manifest.directories) result[name] = 0;
  return result;
}

}  // namespace det::checkpoint
