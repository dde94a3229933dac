#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/json.h"
#include "det/checkpoint/buckets/parts.h"
#include "det/checkpoint/files.h"

namespace det::checkpoint {

struct ObjectInfo {
  std::string key;
  std::int64_t bytes = 0;
  std::int64_t changed = 0;  ///< seconds since 1970
};

/// A flat set of named objects: a bucket of S3 or of Google Cloud Storage, a container of Azure.
///
/// An object is there completely or not at all, and a later `put` replaces it. Everything throws Failure:
/// NotFound, PermissionDenied and Unavailable are told apart, and the message names the object and gives the
/// service's words.
///
/// Threads: safe.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  /// Stores what is in an open file. `sha256` is of its content, where it is known: the service compares, if
  /// it can.
  virtual void put(const std::string& key, int file, std::int64_t bytes, const std::string& sha256 = {}) = 0;
  virtual void put(const std::string& key, std::string_view content) = 0;

  /// Stores a file whose unchanged segments are as in the object `from`. A service that can copy within
  /// itself is sent the others only; it is sent an unchanged one, too, where `from` is gone.
  virtual void put_changes(const std::string& key, int file, const std::vector<Segment>& segments,
                           const std::string& from, const std::string& sha256);

  /// Gives the content to `sink` piece by piece; after `restart` all over again.
  virtual void get(const std::string& key, const std::function<void()>& restart,
                   const std::function<void(std::string_view)>& sink) = 0;

  virtual std::optional<ObjectInfo> find(const std::string& key) = 0;

  /// All whose key begins so, in the order of their keys.
  virtual std::vector<ObjectInfo> list(const std::string& prefix) = 0;

  /// Already gone is success.
  virtual void remove(const std::string& key) = 0;

  /// For messages: "s3://bucket/key".
  virtual std::string shown(const std::string& key) const = 0;

  std::string text(const std::string& key);

  /// Writes an object to a file, which it replaces when all is there.
  void fetch(const std::string& key, const std::filesystem::path& file);
};

/// The bucket that a section of a configuration names (`checkpoint_storage`, `data_layer`): its `type` is s3,
/// gcs or azure, and its other fields are as in experiment-config. Looks for credentials when it is first
/// used.
Result<std::unique_ptr<ObjectStore>> open_object_store(const json::object& section);

/// What a section puts before all keys: its `prefix` without outer slashes, and "/" unless it is empty.
std::string bucket_prefix(const json::object& section);

std::unique_ptr<ObjectStore> s3_store(const json::object& section);
std::unique_ptr<ObjectStore> gcs_store(const json::object& section);

}  // namespace det::checkpoint
