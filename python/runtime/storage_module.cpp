#include <pybind11/stl.h>

#include <filesystem>

#include "det/checkpoint/storage.h"
#include "runtime.h"

namespace det::python {

using checkpoint::Storage;

namespace {

std::string text_member(const json::object& section, const char* name) {
  const auto* found = section.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

/// `text` is the configuration's checkpoint_storage section, or the whole configuration.
std::unique_ptr<Storage> from_config_json(std::string_view text, const std::string& container_root) {
  auto section = unwrap(read_object(text, "checkpoint_storage"));
  if (auto* inner = section.if_contains("checkpoint_storage"); inner != nullptr && inner->is_object())
    section = json::object(inner->get_object());
  config::CheckpointStorage config;
  config.type = text_member(section, "type");
  config.host_path = text_member(section, "host_path");
  config.storage_path = text_member(section, "storage_path");
  config.container_path = text_member(section, "container_path");
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
            blocking([&] { return storage.verify(uuid); });
            return storage.path(uuid).string();
          },
          py::arg("uuid"),
          "A directory to read from in place; every file in it has just been compared with its manifest.")
      .def(
          "remove",
          [](Storage& storage, const std::string& uuid) { blocking([&] { return storage.remove(uuid); }); },
          py::arg("uuid"))
      .def(
          "probe", [](Storage& storage) { blocking([&] { return storage.probe(); }); },
          "Fails if nothing can be saved here.");

  module.def("new_uuid", &checkpoint::new_uuid, "A random uuid; leaves every seeded generator alone.");
}

}  // namespace det::python
