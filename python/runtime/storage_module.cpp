#include <fcntl.h>
#include <pybind11/stl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>

#include "det/checkpoint/buckets/object_store.h"
#include "det/checkpoint/guarded.h"
#include "det/checkpoint/storage.h"
#include "runtime.h"

namespace det::python {

using checkpoint::Storage;

namespace {

/// `text` is the configuration's checkpoint_storage section, or the whole configuration.
std::unique_ptr<Storage> from_config_json(std::string_view text, const std::string& container_root) {
  auto section = unwrap(read_object(text, "checkpoint_storage"));
  if (auto* inner = section.if_contains("checkpoint_storage"); inner != nullptr && inner->is_object())
    section = json::object(inner->get_object());
  config::CheckpointStorage config;
  config.type = json::text_member(section, "type");
  config.host_path = json::text_member(section, "host_path");
  config.storage_path = json::text_member(section, "storage_path");
  config.container_path = json::text_member(section, "container_path");
  config.fields = section;
  // Outside of containers nothing is mounted there, and host_path itself is meant.
  std::error_code ignored;
  const bool mounted = !container_root.empty() && std::filesystem::is_directory(container_root, ignored);
  return unwrap(checkpoint::open_storage(config, mounted ? container_root : std::string()));
}

}  // namespace

void bind_storage(py::module_& module) {
  py::class_<Storage>(module, "CheckpointStorage", "Where checkpoints live.")
      .def_static("from_config_json", &from_config_json, py::arg("json"), py::arg("container_root"))
      .def(
          "save",
          [](Storage& storage, const std::string& directory, const std::string& uuid) {
            return blocking([&] { return storage.save(directory, uuid); });
          },
          py::arg("directory"), py::arg("uuid"))
      .def(
          "restore",
          [](Storage& storage, const std::string& uuid, const std::string& directory) {
            blocking([&] { return storage.restore(uuid, directory); });
          },
          py::arg("uuid"), py::arg("directory"))
      .def(
          "path",
          [](Storage& storage, const std::string& uuid) {
            const auto place = storage.path(uuid);
            if (place.empty()) return std::optional<std::string>();
            blocking([&] { return storage.verify(uuid); });
            return std::optional(place.string());
          },
          py::arg("uuid"),
          "A directory to read from in place, every file of which has just been compared with its manifest; "
          "None for "
          "a bucket, from which restore() fetches.")
      .def(
          "remove",
          [](Storage& storage, const std::string& uuid) { blocking([&] { return storage.remove(uuid); }); },
          py::arg("uuid"))
      .def(
          "probe", [](Storage& storage) { blocking([&] { return storage.probe(); }); },
          "Fails if nothing can be saved here.");

  py::class_<checkpoint::ObjectStore>(module, "ObjectStore", "A bucket: objects by their keys.")
      .def_static(
          "from_config_json",
          [](std::string_view text) {
            return unwrap(checkpoint::open_object_store(unwrap(read_object(text, "the bucket's section"))));
          },
          py::arg("json"))
      .def(
          "put",
          [](checkpoint::ObjectStore& store, const std::string& key, const std::string& path) {
            blocking([&] {
              return checkpoint::guarded("", [&] {
                const checkpoint::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
                struct stat about{};
                if (!file || ::fstat(file.get(), &about) != 0) checkpoint::throw_errno("read " + path, errno);
                store.put(key, file.get(), about.st_size);
              });
            });
          },
          py::arg("key"), py::arg("path"), "Stores a file's content.")
      .def(
          "get",
          [](checkpoint::ObjectStore& store, const std::string& key, const std::string& path) {
            blocking([&] { return checkpoint::guarded("", [&] { store.fetch(key, path); }); });
          },
          py::arg("key"), py::arg("path"),
          "Writes an object's content to a file, which it replaces when all is there.")
      .def(
          "text",
          [](checkpoint::ObjectStore& store, const std::string& key) {
            return py::bytes(
                blocking([&] { return checkpoint::guarded("", [&] { return store.text(key); }); }));
          },
          py::arg("key"))
      .def(
          "sizes",
          [](checkpoint::ObjectStore& store, const std::string& prefix) {
            return blocking([&] {
              return checkpoint::guarded("", [&] {
                std::map<std::string, std::int64_t> sizes;
                for (const auto& object : store.list(prefix)) sizes[object.key] = object.bytes;
                return sizes;
              });
            });
          },
          py::arg("prefix"), "The bytes of all objects whose key begins so, by key.")
      .def(
          "remove",
          [](checkpoint::ObjectStore& store, const std::string& key) {
            blocking([&] { return checkpoint::guarded("", [&] { store.remove(key); }); });
          },
          py::arg("key"));

  module.def("new_uuid", &checkpoint::new_uuid, "A random uuid; leaves every seeded generator alone.");
}

}  // namespace det::python
