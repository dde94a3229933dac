// `det init`: the files of a project to start from.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>

#include "det/det/commands.h"
#include "templates_files.h"

namespace det::commands {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, const char*> kTemplates = {
    {"pytorch", "a PyTorchTrial"},
    {"core", "a script with its own training loop (Core API)"},
    {"keras", "a TFKerasTrial"},
    {"cxx", "a trial in C++ on LibTorch"},
};

int refused(const std::string& why) {
  std::fprintf(stderr, "det init: %s\n", why.c_str());
  return 1;
}

}  // namespace

int init(std::vector<std::string> arguments) {
  CLI::App app("Make a project to start from: a model that trains in seconds, and configurations for it.",
               "det init");
  fs::path directory = ".";
  std::string kind = "pytorch";
  app.add_option("directory", directory, "Directory to write to; made if it does not exist")
      ->type_name("DIR")
      ->capture_default_str();
  std::string kinds;
  for (const auto& [name, what] : kTemplates) kinds += (kinds.empty() ? "" : "; ") + name + ": " + what;
  app.add_option("-t,--template", kind, kinds)->check(CLI::IsMember(kTemplates))->capture_default_str();
  if (const auto code = parse(app, std::move(arguments))) return *code;

  const auto prefix = "/" + kind + "/";
  std::vector<const http::EmbeddedFile*> files;
  for (const auto& file : templates::files())
    if (file.path.starts_with(prefix)) files.push_back(&file);
  const auto place_of = [&](const http::EmbeddedFile& file) {
    return directory / std::string(file.path.substr(prefix.size()));
  };

  std::string taken;
  for (const auto* file : files)
    if (fs::exists(place_of(*file))) taken += (taken.empty() ? "" : ", ") + place_of(*file).string();
  if (!taken.empty()) return refused(taken + " would be overwritten; name another directory: det init DIR");
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) return refused("cannot make the directory " + directory.string() + ": " + failed.message());
  for (const auto* file : files) {
    std::ofstream out(place_of(*file), std::ios::binary);
    out << file->content();
    if (!out.flush()) return refused("cannot write " + place_of(*file).string());
  }

  std::printf("Made %s in %s:\n", kTemplates.at(kind),
              directory == "." ? "this directory" : directory.c_str());
  for (const auto* file : files) std::printf("  %s\n", place_of(*file).c_str());
  const auto config = (directory / "const.yaml").lexically_normal();
  std::printf(
      "\nTrain it:\n"
      "  det up                                       # a master and an agent on this machine, if none runs "
      "yet\n"
      "  det experiment create -f %s %s\n"
      "Search its hyperparameters:\n"
      "  det experiment create %s %s\n",
      config.c_str(), directory.c_str(), (directory / "search.yaml").lexically_normal().c_str(),
      directory.c_str());
  return 0;
}

}  // namespace det::commands
