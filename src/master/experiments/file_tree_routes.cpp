// The submitted files, one by one.

#include <archive.h>
#include <archive_entry.h>

#include <charconv>
#include <functional>
#include <limits>

#include "det/base/text.h"
#include "det/base/utf8_names.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

constexpr std::int64_t kFileBytesMax = 16 << 20;  // of one that is shown

struct OfExperiment {
  ExperimentId experiment_id;
};
BOOST_DESCRIBE_STRUCT(OfExperiment, (), (experiment_id))
/// A file, or a directory with what is in it.
struct FileNode {
  std::string path, name;
  std::string modified_time;  ///< with all digits of the microseconds
  std::int32_t content_length = 0;
  bool is_dir = false;
  std::string content_type;
  std::vector<FileNode> files;
};
BOOST_DESCRIBE_STRUCT(FileNode, (), (path, name, modified_time, content_length, is_dir, content_type, files))
struct TreeReply {
  std::vector<FileNode> files;
};
BOOST_DESCRIBE_STRUCT(TreeReply, (), (files))
struct FileRequest {
  ExperimentId experiment_id;
  std::string path;
  static bool required(std::string_view name) { return name == "path"; }
};
BOOST_DESCRIBE_STRUCT(FileRequest, (), (experiment_id, path))
struct FileReply {
  std::string file;  ///< base64
};
BOOST_DESCRIBE_STRUCT(FileReply, (), (file))

struct Node {
  bool directory = true;
  std::int64_t bytes = 0;
  Time modified{};
  std::map<std::string, Node> children{};
};

/// Calls `use` with each entry until it returns false.
Result<void> each_entry(const std::string& packed, const std::function<bool(archive*, archive_entry*)>& use) {
  const Utf8Names names_are_utf8;
  const std::unique_ptr<archive, int (*)(archive*)> reader(archive_read_new(), archive_read_free);
  archive_read_support_filter_all(reader.get());
  archive_read_support_format_tar(reader.get());
  archive_read_support_format_empty(reader.get());
  if (archive_read_open_memory(reader.get(), packed.data(), packed.size()) != ARCHIVE_OK)
    return fail(ErrorCode::Internal, "the stored model definition cannot be unpacked: {}",
                archive_error_string(reader.get()));
  archive_entry* entry = nullptr;
  while (archive_read_next_header(reader.get(), &entry) == ARCHIVE_OK)
    if (!use(reader.get(), entry)) break;
  return {};
}

/// "a/./b/" as "a/b".
std::string plain(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (!part.empty() && part != ".") text += (text.empty() ? "" : "/") + std::string(part);
  }
  return text;
}

std::vector<FileNode> files_of(const Node& node, const std::string& prefix) {
  std::vector<FileNode> files;
  for (const auto& [name, child] : node.children) {
    const auto path = prefix.empty() ? name : prefix + "/" + name;
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    files.push_back({.path = path,
                     .name = name,
                     .modified_time = to_rfc3339(child.modified),
                     .content_length = static_cast<std::int32_t>(std::min(child.bytes, kMost)),
                     .is_dir = child.directory,
                     .content_type = child.directory ? "" : "application/octet-stream",
                     .files = files_of(child, path)});
  }
  return files;
}

Result<std::string> packed_files(store::Store& store, ExperimentId id) {
  const auto record = store.experiment(id);
  if (!record) return not_found("experiment '{}' not found", id);
  return store.model_definition(record->model_definition).value_or("");
}

Result<TreeReply> tree(store::Store& store, ExperimentId id) {
  DET_TRY(const auto packed, packed_files(store, id));
  Node root;
  const auto add = [&root](archive*, archive_entry* entry) {
    const auto path = plain(archive_entry_pathname(entry));
    auto* node = &root;
    for (std::size_t begin = 0; begin < path.size();) {
      const auto end = std::min(path.find('/', begin), path.size());
      node = &node->children[path.substr(begin, end - begin)];
      begin = end + 1;
    }
    node->directory = archive_entry_filetype(entry) == AE_IFDIR;
    node->bytes = node->directory ? 0 : archive_entry_size(entry);
    node->modified = Time{archive_entry_mtime(entry) * kSecond};
    return true;
  };
  DET_TRY([[maybe_unused]] const auto read, each_entry(packed, add).map([] { return true; }));
  return TreeReply{files_of(root, "")};
}

Result<std::string> file(store::Store& store, const FileRequest& request) {
  DET_TRY(const auto packed, packed_files(store, request.experiment_id));
  const auto wanted = plain(request.path);
  std::optional<Result<std::string>> found;
  const auto look = [&](archive* reader, archive_entry* entry) {
    if (plain(archive_entry_pathname(entry)) != wanted || archive_entry_filetype(entry) != AE_IFREG)
      return true;
    const auto bytes = archive_entry_size(entry);
    if (bytes > kFileBytesMax) {
      found = invalid_argument(
          "file '{}' has {} bytes; a single file can have at most {}. Download the model definition instead",
          request.path, bytes, kFileBytesMax);
      return false;
    }
    std::string content(static_cast<std::size_t>(bytes), '\0');
    const auto got = archive_read_data(reader, content.data(), content.size());
    content.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    found = std::move(content);
    return false;
  };
  DET_TRY([[maybe_unused]] const auto read, each_entry(packed, look).map([] { return true; }));
  if (found) return *std::move(found);
  return not_found("experiment {} has no file '{}'", request.experiment_id, request.path);
}

/// The older form of the call: the bytes of the file.
asio::awaitable<http::Response> download(Services& s, http::Request request) {
  const auto& name = request.parameters.at("id");
  std::int64_t id = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), id);
  const bool is_number = failure == std::errc{} && end == name.data() + name.size();
  const auto* path = request.query.find("path");
  if (!is_number) {
    auto missing = not_found("experiment '{}' not found", name);
    co_return http::error_response(missing.value());
  }
  if (path == nullptr) {
    auto missing = invalid_argument("path is missing; it must be the path of a submitted file");
    co_return http::error_response(missing.value());
  }
  auto read = [&s, wanted = FileRequest{ExperimentId{id}, *path}] { return file(s.store, wanted); };
  auto content = co_await offload(s, std::move(read));
  if (!content) co_return http::error_response(content.error());
  http::Response response{.status = 200, .body = *std::move(content)};
  response.headers.set("Content-Type", "application/octet-stream");
  response.headers.set("Content-Disposition", "attachment");
  co_return response;
}

}  // namespace

void add_file_tree_routes(http::Router& router, Services& s) {
  router.add<OfExperiment, TreeReply>(
      Verb::Get, "/api/v1/experiments/{experimentId}/file_tree",
      [&s](Context, OfExperiment q) -> asio::awaitable<Result<TreeReply>> {
        auto read = [&s, id = q.experiment_id] { return tree(s.store, id); };
        co_return co_await offload(s, std::move(read));
      },
      Doc{.summary = "List the submitted files of an experiment as a tree",
          .tag = "Experiments",
          .errors = {ErrorCode::NotFound}});
  router.add<FileRequest, FileReply>(
      Verb::Post, "/api/v1/experiments/{experimentId}/file",
      [&s](Context c, FileRequest r) -> asio::awaitable<Result<FileReply>> {
        if (const auto user = require_user(c.principal); !user) co_return tl::unexpected(user.error());
        auto read = [&s, r] { return file(s.store, r); };
        const auto content = co_await offload(s, std::move(read));
        if (!content) co_return tl::unexpected(content.error());
        co_return FileReply{base64_encode(*content)};
      },
      Doc{.summary = "Get a submitted file of an experiment in base64",
          .tag = "Experiments",
          .errors = {ErrorCode::NotFound}});
  router.add_closed_raw(Verb::Get, "/experiments/{id}/file/download",
                        [&s](http::Request r, std::any) { return download(s, std::move(r)); });
}

}  // namespace det::master
