#include "det/det/doctor/probe.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "det/base/json.h"
#include "det/base/text.h"
#include "det/checkpoint/environment.h"
#include "det/checkpoint/storage.h"
#include "det/config/yaml/yaml.h"
#include "det/det/paths.h"
#include "det/http/client/client.h"
#include "det/http/url.h"
#include "det/master/elastic/run_program.h"
#include "det/version.h"

namespace det::commands::doctor {
namespace {

namespace fs = std::filesystem;
using master::run_program;

constexpr const char* kAskPython = R"(
import importlib.util, json, platform, sys
import importlib.metadata as metadata
def version(*names):
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return ""
def package():
    if importlib.util.find_spec("determined") is None:
        return ""
    from determined._version import __version__
    return __version__
print(json.dumps({"version": platform.python_version(), "package": package(), "torch": version("torch"),
                  "tensorflow": version("tensorflow", "tensorflow-cpu")}))
)";

constexpr const char* kSmallest =
    "{entrypoint: none, searcher: {name: single, metric: loss, max_length: {batches: 1}}}";

void ask_python(Facts& facts) {
  facts.python = default_python();
  const auto answer = run_program({facts.python, "-c", kAskPython});
  if (!answer) {
    facts.python_error = answer.error().message();
    return;
  }
  const auto parsed = answer->status == 0 ? json::parse(answer->out) : Result<json::value>(json::value());
  if (!parsed || !parsed->is_object()) {
    facts.python_error =
        std::string(trim(answer->err.substr(answer->err.rfind('\n', answer->err.size() - 2) + 1)));
    return;
  }
  const auto& found = parsed->get_object();
  facts.python_version = json::text_member(found, "version");
  facts.package_version = json::text_member(found, "package");
  facts.torch_version = json::text_member(found, "torch");
  facts.tensorflow_version = json::text_member(found, "tensorflow");
}

void ask_gpus(Facts& facts) {
  if (::access("/dev/nvidiactl", F_OK) != 0) return;
  if (const auto answer = run_program({"nvidia-smi", "-L"}); answer && answer->status == 0)
    for (const auto& line : split(answer->out, '\n'))
      if (std::string_view(line).starts_with("GPU ")) ++facts.gpus;
  if (facts.gpus == 0 || facts.torch_version.empty()) return;
  const auto answer = run_program({facts.python, "-c", "import torch; print(torch.cuda.is_available())"}, "",
                                  {}, std::chrono::seconds(60));
  facts.torch_sees_gpu = answer && trim(answer->out) == "True";
}

std::string in_path(std::initializer_list<const char*> names) {
  const auto path = environment_variable("PATH") + ":/usr/sbin:/sbin";
  for (const auto* name : names)
    for (const auto& folder : split(path, ':')) {
      const auto file = fs::path(folder) / name;
      if (::access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file)) return file.string();
    }
  return "";
}

/// The version of a master at an address. NotFound: what answers is none; Unavailable: nothing answers.
Result<std::string> master_at(const std::string& address) {
  DET_TRY(const auto url, http::parse_url(address));
  http::Client client(url, {.connect_timeout = std::chrono::seconds(2)});
  DET_TRY(const auto reply, client.request({.path = "/api/v1/master", .timeout = std::chrono::seconds(5)}));
  const auto parsed = json::parse(reply.body);
  if (!parsed || !parsed->is_object() || !parsed->get_object().contains("version"))
    return fail(ErrorCode::NotFound, "the server at {} is not a Determined master", address);
  return json::text_member(parsed->get_object(), "version");
}

void ask_port(Facts& facts) {
  const auto version = master_at(fmt::format("http://127.0.0.1:{}", facts.port));
  if (version)
    facts.port_user = "a Determined master " + *version;
  else if (version.error().message().find("refused") == std::string::npos)
    facts.port_user = "another program";
}

/// The nearest folder that exists, as `directory` may be made only by `det up`.
void ask_disk(Facts& facts) {
  std::error_code failed;
  fs::path there = fs::absolute(facts.directory);
  while (!fs::exists(there, failed) && there.has_relative_path()) there = there.parent_path();
  if (::access(there.c_str(), W_OK) != 0)
    facts.directory_error = std::error_code(errno, std::generic_category()).message();
  const auto space = fs::space(there, failed);
  if (!failed) facts.free_gb = static_cast<double>(space.available) / 1e9;
  const auto shared = fs::space("/dev/shm", failed);
  if (!failed) facts.shared_memory_gb = static_cast<double>(shared.capacity) / 1e9;
}

/// The checkpoint storage of a configuration, as an experiment that says nothing else would have it.
Result<config::CheckpointStorage> storage_of(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) return invalid_argument("cannot read {}: {}", file, std::strerror(errno));
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  auto document = config::parse_yaml(text);
  if (!document) return invalid_argument("{}: {}", file, document.error().front().text);
  const auto* map = document->value.if_object();
  const auto* storage = map == nullptr ? nullptr : map->if_contains("checkpoint_storage");
  if (storage == nullptr) return invalid_argument("{} has no checkpoint_storage", file);
  auto resolved = config::resolve({.master = {{"checkpoint_storage", *storage}}, .user_yaml = kSmallest},
                                  {.now = {}, .pet_name = "doctor", .resource_pools = std::nullopt});
  if (!resolved) {
    std::string problems;
    for (const auto& problem : resolved.error())
      problems += (problems.empty() ? "" : "; ") + problem.message();
    return invalid_argument("{}: {}", file, problems);
  }
  return resolved->config.checkpoint_storage;
}

void ask_storage(Facts& facts) {
  const auto try_it = [&]() -> Result<void> {
    DET_TRY(const auto config, storage_of(facts.config_file));
    const auto* bucket = config.fields.if_contains("bucket");
    facts.storage = config.type + " " +
                    (bucket != nullptr && bucket->is_string() ? "bucket " + std::string(bucket->get_string())
                     : config.type == "directory"             ? config.container_path
                                                              : config.host_path);
    DET_TRY(const auto storage, checkpoint::open_storage(config));
    return storage->probe();
  };
  if (const auto usable = try_it(); !usable) facts.storage_error = usable.error().message();
}

}  // namespace

Facts look(const std::string& directory, int port, const std::string& config_file) {
  Facts facts;
  facts.version = DET_VERSION;
  facts.directory = directory;
  facts.port = port;
  ask_python(facts);
  ask_gpus(facts);
  facts.compiler = in_path({"clang++-19", "clang++", "g++", "c++"});
  facts.git = in_path({"git"});
  facts.sshd = in_path({"sshd"});
  ask_port(facts);
  ask_disk(facts);
  facts.config_file = config_file;
  if (!config_file.empty()) ask_storage(facts);
  facts.master = environment_variable("DET_MASTER");
  if (!facts.master.empty())
    if (const auto version = master_at(facts.master)) facts.master_version = *version;
  return facts;
}

}  // namespace det::commands::doctor
