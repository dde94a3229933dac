#include "det/pytorch/compile/build_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>

#include "det/base/text.h"
#include "det/pytorch/compile/source.h"
#include "det/pytorch/compile/toolchain.h"

namespace det::pytorch {

namespace fs = std::filesystem;

namespace {

constexpr std::array kRead = {".cpp", ".cc",  ".cxx", ".c",   ".cu",  ".h",   ".hh",  ".hpp", ".hxx",  ".cuh",
                              ".inl", ".inc", ".ipp", ".tpp", ".tcc", ".txx", ".def", ".in",  ".cmake"};

bool is_source(const fs::path& path) {
  return path.filename() == "CMakeLists.txt" ||
         std::ranges::find(kRead, path.extension().string()) != kRead.end();
}

bool is_description(const fs::path& path) {
  constexpr std::array kDescribe = {".yaml", ".yml", ".md", ".ipynb", ".py", ".pyc", ".log"};
  return std::ranges::find(kDescribe, path.extension().string()) != kDescribe.end();
}

}  // namespace

std::vector<std::string> prerequisites(const std::string& text) {
  std::vector<std::string> names;
  std::string name;
  const auto end_name = [&] {
    if (!name.empty() && name.back() != ':') names.push_back(name);
    if (!name.empty() && name.back() == ':') names.clear();  // all before was what is made
    name.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\n';
    if (text[i] == '\\' && (next == ' ' || next == '#')) {
      name += next;
      ++i;
    } else if (text[i] == '$' && next == '$') {
      name += '$';
      ++i;
    } else if (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || (text[i] == '\\' && next == '\n')) {
      end_name();
    } else {
      name += text[i];
    }
  }
  end_name();
  return names;
}

BuildInputs::BuildInputs(fs::path directory, fs::path notes, const std::string& identity, Reads reads)
    : directory_(std::move(directory)), notes_(std::move(notes)) {
  for (const auto& entry : fs::recursive_directory_iterator(directory_))
    if (entry.is_regular_file() &&
        (reads == Reads::Everything ? !is_description(entry.path()) : is_source(entry.path())))
      sources_.push_back(entry.path().lexically_relative(directory_));
  std::ranges::sort(sources_);
  std::string all = identity + "\n";
  for (const auto& path : sources_) {
    const auto text = read_file(directory_ / path);
    all += fmt::format("{} {}\n", path.string(), text.size()) + text;
  }
  sources_digest_ = digest_of(all);
}

std::vector<std::string> BuildInputs::noted() const {
  std::vector<std::string> names;
  std::ifstream file(notes_ / sources_digest_);
  for (std::string line; std::getline(file, line);) names.push_back(line);
  return names;
}

std::string BuildInputs::digest() const {
  const auto names = noted();
  if (names.empty()) return sources_digest_;
  std::string all = sources_digest_ + "\n";
  std::error_code error;
  for (const auto& name : names) {
    const auto path = directory_ / name;
    const auto text = fs::is_regular_file(path, error) ? read_file(path) : "absent";
    all += fmt::format("{} {}\n", name, text.size()) + text;
  }
  return digest_of(all);
}

void BuildInputs::note_read(const fs::path& scratch) {
  std::error_code error;
  const auto names = noted();
  std::set<std::string> all(names.begin(), names.end());
  const auto home = fs::canonical(directory_, error);
  const auto below = fs::canonical(scratch, error);
  for (const auto& entry : fs::recursive_directory_iterator(below, error)) {
    if (entry.path().extension() != ".d") continue;
    for (const auto& name : prerequisites(read_file(entry.path()))) {
      const auto inside = fs::weakly_canonical(home / name, error).lexically_relative(home);
      if (error || inside.empty() || *inside.begin() == ".." ||
          inside.string().find('\n') != std::string::npos)
        continue;
      if (!std::ranges::binary_search(sources_, inside) && fs::is_regular_file(home / inside, error))
        all.insert(inside.string());
    }
  }
  if (all.size() == names.size()) return;
  fs::create_directories(notes_, error);
  const auto partial = notes_ / (".partial-" + sources_digest_);
  {
    std::ofstream file(partial);
    for (const auto& name : all) file << name << "\n";
  }
  fs::rename(partial, notes_ / sources_digest_, error);
}

}  // namespace det::pytorch
