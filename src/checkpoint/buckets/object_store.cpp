#include "det/checkpoint/buckets/object_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "det/checkpoint/storage.h"

namespace det::checkpoint {

void ObjectStore::put_changes(const std::string& key, int file, const std::vector<Segment>& segments,
                              const std::string&, const std::string& sha256) {
  std::int64_t bytes = 0;
  for (const auto& segment : segments) bytes += segment.bytes;
  put(key, file, bytes, sha256);
}

std::string ObjectStore::text(const std::string& key) {
  std::string content;
  get(key, [&] { content.clear(); }, [&](std::string_view piece) { content += piece; });
  return content;
}

void ObjectStore::fetch(const std::string& key, const std::filesystem::path& file) {
  const auto draft = file.string() + ".part-" + new_uuid();
  const Fd out(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!out) throw_errno("create " + draft, errno);
  try {
    get(
        key, [&] { start_again(out.get(), draft); },
        [&](std::string_view piece) { write_all(out.get(), piece, draft); });
    sync(out.get(), draft);
    if (::rename(draft.c_str(), file.c_str()) != 0)
      throw_errno("rename " + draft + " to " + file.string(), errno);
  } catch (const Failure&) {
    ::unlink(draft.c_str());
    throw;
  }
}

Result<std::unique_ptr<ObjectStore>> open_object_store(const json::object& section) {
  const auto* type = section.if_contains("type");
  const auto name = type != nullptr && type->is_string() ? std::string(type->get_string()) : std::string();
  if (name == "s3") return s3_store(section);
  if (name == "gcs") return gcs_store(section);
  return fail(ErrorCode::Unimplemented,
              "checkpoint_storage.type is \"{}\"; it must be shared_fs, directory, s3 or gcs", name);
}

std::string bucket_prefix(const json::object& section) {
  const auto* found = section.if_contains("prefix");
  std::string prefix = found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
  while (prefix.starts_with('/')) prefix.erase(0, 1);
  while (prefix.ends_with('/')) prefix.pop_back();
  return prefix.empty() ? prefix : prefix + "/";
}

}  // namespace det::checkpoint
