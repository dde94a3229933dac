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
  if (manifest.version != 1 && manifest.version != 2)
    return failed_precondition("the manifest has version {}; this release supports only versions 1 and 2",
                               manifest.version);
  for (const auto& [name, file] : manifest.files)
    if (!is_member_name(name) || name.ends_with('/') || file.size < 0 ||
        file.sha256.value_or("").empty() == file.xxh3.value_or("").empty())
      return failed_precondition("the manifest names \"{}\", which is not a file of a checkpoint", name);
  for (const auto& name : manifest.directories)
    if (!is_member_name(name) || !name.ends_with('/'))
      return failed_precondition("the manifest names \"{}\", which is not a directory of a checkpoint", name);
  return manifest;
}

Manifest decode_stored(const std::string& text, const std::string& shown) {
  auto manifest = decode(text);
  if (!manifest)
    throw Failure(Error(ErrorCode::FailedPrecondition, shown + " is damaged: " + manifest.error().message()));
  return *std::move(manifest);
}

ManifestFile ManifestFile::of(Copied content, Hash hash) {
  ManifestFile file{.size = content.bytes};
  (hash == Hash::Sha256 ? file.sha256 : file.xxh3) = std::move(content.sum);
  return file;
}

void check_content(const std::string& shown, const ManifestFile& expected, const Copied& content) {
  if (content.bytes != expected.size)
    throw Failure(Error(
        ErrorCode::FailedPrecondition,
        fmt::format("{} is damaged: it has {} bytes instead of {}", shown, content.bytes, expected.size)));
  const auto& sum = expected.sha256 ? expected.sha256 : expected.xxh3;
  if (sum && content.sum != *sum)
    throw Failure(Error(ErrorCode::FailedPrecondition,
                        fmt::format("{} is damaged: its {} is {} instead of {}", shown,
                                    expected.sha256 ? "SHA-256" : "XXH3", content.sum, *sum)));
}

void throw_missing(const std::string& shown) {
  throw Failure(Error(ErrorCode::FailedPrecondition, shown + " is missing: the checkpoint is damaged"));
}

Resources resources(const Manifest& manifest) {
  Resources result;
  for (const auto& [name, file] : manifest.files) result[name] = file.size;
  for (const auto& name : manifest.directories) result[name] = 0;
  return result;
}

}  // namespace det::checkpoint
