#include "det/master/workspaces/deletion_rules.h"

#include <algorithm>

namespace det::master {
namespace {

constexpr std::size_t kProblemsNamed = 5;  ///< of those that refuse a deletion

}  // namespace

bool goes_on(const Workspaces::Deletion* deletion) {
  return deletion != nullptr && !deletion->failed;
}

Result<void> check_workspace_deletion(const std::string& workspace, std::size_t models,
                                      const std::string& only_pool) {
  if (models > 0)
    return failed_precondition(
        "workspace '{}' has {} model{}; move or delete the models first (see 'det model list -w {}')",
        workspace, models, models == 1 ? "" : "s", workspace);
  if (!only_pool.empty())
    return failed_precondition(
        "resource pool '{}' is bound only to workspace '{}' and would become open to all; bind it to another "
        "workspace first",
        only_pool, workspace);
  return {};
}

std::optional<std::string> unfinished_problem(ExperimentId id, experiment::State state) {
  if (experiment::is_terminal(state)) return std::nullopt;
  return fmt::format("experiment {} is not finished; cancel or kill it first", id);
}

std::string checkpoint_problem(const std::string& uuid, ExperimentId experiment, const std::string& need) {
  return fmt::format("checkpoint {} of experiment {} is {}", uuid, experiment, need);
}

Error deletion_refusal(const char* what, const std::string& name, std::vector<std::string> problems) {
  const auto more = problems.size() - std::min(problems.size(), kProblemsNamed);
  problems.resize(problems.size() - more);
  return Error(ErrorCode::FailedPrecondition,
               fmt::format("{} '{}' cannot be deleted because of its contents: {}{}", what, name,
                           fmt::join(problems, "; "), more > 0 ? fmt::format("; and {} more", more) : ""));
}

}  // namespace det::master
