#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <map>

#include "det/checkpoint/buckets/object_store.h"
#include "det/checkpoint/guarded.h"
#include "det/checkpoint/storage.h"
#include "det/trial/memory.h"
#include "runtime.h"

namespace det::python {

namespace {

/// What Python holds of an interface.
struct Storage {
  static constexpr const char* kHandle = "det.CheckpointStorage";
  std::unique_ptr<checkpoint::Storage> own;
};
struct Bucket {
  static constexpr const char* kHandle = "det.ObjectStore";
  std::unique_ptr<checkpoint::ObjectStore> own;
};

/// The text is the configuration's checkpoint_storage section, or the whole configuration.
PyObject* storage_from_config_json(Arguments& arguments) {
  const auto text = arguments.text();
  const auto container_root = arguments.text();
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
  auto own = unwrap(checkpoint::open_storage(config, mounted ? container_root : std::string()));
  return handle_of(std::make_unique<Storage>(std::move(own)));
}

PyObject* storage_save(Arguments& arguments) {
  auto& storage = *arguments.behind<Storage>().own;
  const auto directory = arguments.text();
  const auto uuid = arguments.text();
  return to_python(blocking([&] { return storage.save(directory, uuid); }));
}

void storage_restore(Arguments& arguments) {
  auto& storage = *arguments.behind<Storage>().own;
  const auto uuid = arguments.text();
  const auto directory = arguments.text();
  blocking([&] { return storage.restore(uuid, directory); });
}

PyObject* storage_draft(Arguments& arguments) {
  auto& storage = *arguments.behind<Storage>().own;
  const auto uuid = arguments.text();
  return to_python(blocking([&] { return storage.draft(uuid); }).string());
}

PyObject* storage_publish(Arguments& arguments) {
  auto& storage = *arguments.behind<Storage>().own;
  const auto uuid = arguments.text();
  const auto draft = arguments.text();
  return to_python(blocking([&] { return storage.publish(uuid, draft); }));
}

PyObject* storage_place(Arguments& arguments) {
  auto& storage = *arguments.behind<Storage>().own;
  const auto place = storage.path(arguments.text());
  return place.empty() ? to_python(std::nullopt) : to_python(place.string());
}

void storage_verify(Arguments& arguments) {
  auto& storage = *arguments.behind<Storage>().own;
  const auto uuid = arguments.text();
  blocking([&] { return storage.verify(uuid); });
}

void storage_remove(Arguments& arguments) {
  auto& storage = *arguments.behind<Storage>().own;
  const auto uuid = arguments.text();
  blocking([&] { return storage.remove(uuid); });
}

void storage_probe(Arguments& arguments) {
  auto& storage = *arguments.behind<Storage>().own;
  blocking([&] { return storage.probe(); });
}

PyObject* bucket_from_config_json(Arguments& arguments) {
  const auto section = unwrap(read_object(arguments.text(), "the bucket's section"));
  return handle_of(std::make_unique<Bucket>(unwrap(checkpoint::open_object_store(section))));
}

void bucket_put(Arguments& arguments) {
  auto& bucket = *arguments.behind<Bucket>().own;
  const auto key = arguments.text();
  const auto path = arguments.text();
  blocking([&] {
    return checkpoint::guarded("", [&] {
      const checkpoint::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      struct stat about{};
      if (!file || ::fstat(file.get(), &about) != 0) checkpoint::throw_errno("read " + path, errno);
      bucket.put(key, file.get(), about.st_size);
    });
  });
}

void bucket_get(Arguments& arguments) {
  auto& bucket = *arguments.behind<Bucket>().own;
  const auto key = arguments.text();
  const auto path = arguments.text();
  blocking([&] { return checkpoint::guarded("", [&] { bucket.fetch(key, path); }); });
}

PyObject* bucket_text(Arguments& arguments) {
  auto& bucket = *arguments.behind<Bucket>().own;
  const auto key = arguments.text();
  const auto content = blocking([&] { return checkpoint::guarded("", [&] { return bucket.text(key); }); });
  return PyBytes_FromStringAndSize(content.data(), static_cast<Py_ssize_t>(content.size()));
}

PyObject* bucket_sizes(Arguments& arguments) {
  auto& bucket = *arguments.behind<Bucket>().own;
  const auto prefix = arguments.text();
  return to_python(blocking([&] {
    return checkpoint::guarded("", [&] {
      std::map<std::string, std::int64_t> sizes;
      for (const auto& object : bucket.list(prefix)) sizes[object.key] = object.bytes;
      return sizes;
    });
  }));
}

void bucket_remove(Arguments& arguments) {
  auto& bucket = *arguments.behind<Bucket>().own;
  const auto key = arguments.text();
  blocking([&] { return checkpoint::guarded("", [&] { bucket.remove(key); }); });
}

PyObject* available_memory(Arguments&) {
  const auto bytes = trial::available_memory();
  return bytes ? to_python(*bytes) : to_python(std::nullopt);
}

PyObject* new_uuid(Arguments&) {
  return to_python(checkpoint::new_uuid());
}

}  // namespace

const std::vector<PyMethodDef> kStorageMethods = {
    {"storage_from_config_json", call<storage_from_config_json>, METH_VARARGS, nullptr},
    {"storage_save", call<storage_save>, METH_VARARGS, nullptr},
    {"storage_restore", call<storage_restore>, METH_VARARGS, nullptr},
    {"storage_draft", call<storage_draft>, METH_VARARGS, nullptr},
    {"storage_publish", call<storage_publish>, METH_VARARGS, nullptr},
    {"storage_place", call<storage_place>, METH_VARARGS, nullptr},
    {"storage_verify", call<storage_verify>, METH_VARARGS, nullptr},
    {"storage_remove", call<storage_remove>, METH_VARARGS, nullptr},
    {"storage_probe", call<storage_probe>, METH_VARARGS, nullptr},
    {"bucket_from_config_json", call<bucket_from_config_json>, METH_VARARGS, nullptr},
    {"bucket_put", call<bucket_put>, METH_VARARGS, nullptr},
    {"bucket_get", call<bucket_get>, METH_VARARGS, nullptr},
    {"bucket_text", call<bucket_text>, METH_VARARGS, nullptr},
    {"bucket_sizes", call<bucket_sizes>, METH_VARARGS, nullptr},
    {"bucket_remove", call<bucket_remove>, METH_VARARGS, nullptr},
    {"available_memory", call<available_memory>, METH_VARARGS, nullptr},
    {"new_uuid", call<new_uuid>, METH_VARARGS, nullptr},
};

}  // namespace det::python
