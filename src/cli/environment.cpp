#include "det/cli/environment.h"

#include <fmt/format.h>

#include "det/cli/output/format.h"

namespace det::cli {
namespace {

/// "a: 1, b: x" of an object, without what is null or empty.
std::string pairs_text(const json::value& pairs) {
  std::string text;
  if (!pairs.is_object()) return text;
  for (const auto& [name, value] : pairs.get_object())
    if (const auto cell = cell_text(value); !cell.empty())
      text += (text.empty() ? "" : "\n") + std::string(name) + ": " + cell;
  return text;
}

std::string gpus_text(const json::value& hardware) {
  std::string text;
  for (const auto& gpu : list_at(hardware, "gpus"))
    text += (text.empty() ? "" : "\n") +
            fmt::format("{}, {}", text_at(gpu, "name"), cell_text(size_cell(at(gpu, "memory_bytes"))));
  if (text.empty()) return "none";
  return text + "\ndriver " + text_at(hardware, "gpu_driver");
}

std::string runs_text(const json::value& environment) {
  std::string text;
  for (const auto& finding : list_at(environment, "found"))
    text += (text.empty() ? "" : "\n") + fmt::format("run {}, rank {}, {}", integer_at(finding, "runId"),
                                                     integer_at(finding, "rank"),
                                                     cell_text(time_cell(at(finding, "reportTime"))));
  return text;
}

std::string packages_text(const json::value& environment) {
  constexpr std::size_t kWidth = 72;
  std::string text, line;
  for (const auto& package : list_at(environment, "packages")) {
    const auto next = cell_text(package);
    if (!line.empty() && line.size() + next.size() > kWidth) {
      text += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : "  ") + next;
  }
  return text + line;
}

}  // namespace

std::string git_text(const json::value& git) {
  const auto commit = text_at(git, "commit");
  if (commit.empty()) return "";
  std::string more = text_at(git, "branch");
  const auto& dirty = at(git, "dirty");
  if (dirty.is_bool() && dirty.get_bool()) more += more.empty() ? "changed" : ", changed";
  return commit.substr(0, 12) + (more.empty() ? "" : " (" + more + ")");
}

Table environment_table(const json::value& answer) {
  const auto& all = list_at(answer, "environments");
  std::vector<std::string> headers = {"Environment"};
  for (std::size_t i = 0; i < all.size(); ++i) headers.push_back(i == 0 ? "Newest" : "Earlier");
  if (all.empty()) headers.emplace_back("");
  Table table(headers);
  const auto shared = [&](const char* name, const std::string& text) {
    std::vector<json::value> row = {json::value(name), json::value(text)};
    row.resize(headers.size());
    table.add(std::move(row));
  };
  shared("git", git_text(at(answer, "git")));
  shared("seeds", pairs_text(at(answer, "seeds")));
  if (all.empty()) return table;
  const auto fact = [&](const char* name, auto text_of) {
    std::vector<json::value> row = {json::value(name)};
    for (const auto& one : all) row.emplace_back(text_of(one));
    table.add(std::move(row));
  };
  const auto cell = [&](const char* name, const char* path) {
    fact(name, [path](const json::value& one) { return cell_text(at(one, path)); });
  };
  fact("reported by", runs_text);
  cell("machine", "environment.hardware.hostname");
  cell("operating system", "environment.os.name");
  cell("kernel", "environment.os.kernel");
  cell("CPU", "environment.hardware.cpu");
  cell("cores", "environment.hardware.usable_cores");
  fact("memory", [](const json::value& one) {
    return cell_text(size_cell(at(one, "environment.hardware.memory_bytes")));
  });
  fact("GPUs", [](const json::value& one) { return gpus_text(at(one, "environment.hardware")); });
  fact("versions", [](const json::value& one) { return pairs_text(at(one, "environment.versions")); });
  fact("switches", [](const json::value& one) { return pairs_text(at(one, "environment.switches")); });
  fact("variables", [](const json::value& one) { return pairs_text(at(one, "environment.variables")); });
  fact("packages", [](const json::value& one) { return packages_text(at(one, "environment")); });
  return table;
}

}  // namespace det::cli
