// Slurm by its commands, which every site has: sbatch, squeue, scancel, scontrol.

#include <fmt/format.h>

#include <algorithm>

#include "det/base/text.h"
#include "det/master/elastic/engines/slurm_text.h"
#include "det/master/elastic/provider.h"
#include "det/master/elastic/run_program.h"

namespace det::master {
namespace {

class Slurm final : public Provider {
 public:
  Slurm(ProviderSettings settings, PilotSettings pilot)
      : settings_(std::move(settings)), pilot_(std::move(pilot)) {}

  Result<void> check() override {
    std::vector<std::string> words{"scontrol", "-o", "show", "partition"};
    if (!settings_.partition.empty()) words.push_back(settings_.partition);
    DET_TRY(const auto text, ask(words));
    const auto limit = partition_limit(text, settings_.partition);
    if (settings_.time_limit == 0 && limit && *limit <= settings_.limits.grace_period)
      return failed_precondition(
          "Slurm: jobs of {} end after {} s; that must be longer than grace_period, which is {} s",
          settings_.partition.empty() ? "the default partition" : "partition " + settings_.partition, *limit,
          settings_.limits.grace_period);
    return {};
  }

  Result<std::string> submit(const EngineRequest& request) override {
    auto words = sbatch_words(settings_, pilot_, request);
    if (!settings_.as_owner.empty()) {
      if (!is_account(request.owner))
        return invalid_argument(
            "user '{}' cannot submit jobs: the name must be that of an ordinary account of the site; "
            "`det user link-with-agent-user` names another one",
            request.owner);
      words = as_owner(settings_, request.owner, std::move(words));
    }
    DET_TRY(const auto out,
            ask(words, slurm_script(settings_, pilot_, request), {{"DET_PILOT_TOKEN", request.token}}));
    return std::string(trim(out.substr(0, out.find(';'))));  // "4711;cluster" where there are several
  }

  Result<std::vector<EngineJob>> list(const std::string& prefix) override {
    DET_TRY(const auto out,
            ask(squeue_words(!settings_.as_owner.empty()), "", {{"SLURM_TIME_FORMAT", "%s"}}));
    auto jobs = read_squeue(out, prefix, settings_.time_limit);
    if (jobs && settings_.as_owner.empty())
      for (auto& job : *jobs) job.user.clear();  // all are ours
    return jobs;
  }

  std::string log_of(const std::string& name) const override {
    return fmt::format("{}/{}.log", pilot_.log_dir, name);
  }

  Result<void> cancel(const std::vector<EngineJob>& jobs) override {
    std::map<std::string, std::vector<std::string>> by_user;
    for (const auto& job : jobs) by_user[job.user].push_back(job.id);
    for (auto& [user, words] : by_user) {
      words.insert(words.begin(), "scancel");
      if (!user.empty() && is_account(user)) words = as_owner(settings_, user, std::move(words));
      if (const auto done = ask(words); !done) return tl::unexpected(done.error());
    }
    return {};
  }

  int calls_per_minute() const override { return 30; }

 private:
  static Result<std::string> ask(const std::vector<std::string>& words, const std::string& input = "",
                                 const std::map<std::string, std::string>& environment = {}) {
    DET_TRY(const auto end, run_program(words, input, environment));
    if (end.status == 0) return end.out;
    const auto text = slurm_error(end.err.empty() ? end.out : end.err);  // scontrol complains on stdout
    if (is_slurm_silent(end.err)) return fail(ErrorCode::Unavailable, "Slurm does not answer: {}", text);
    return fail(ErrorCode::FailedPrecondition, "Slurm: {}",
                text.empty() ? fmt::format("{} exited with {}", words.front(), end.status) : text);
  }

  ProviderSettings settings_;
  PilotSettings pilot_;
};

}  // namespace

std::unique_ptr<Provider> make_slurm(const ProviderSettings& settings, const PilotSettings& pilot) {
  return std::make_unique<Slurm>(settings, pilot);
}

}  // namespace det::master
