// Slurm by its commands, which every site has: sbatch, squeue, scancel, scontrol.

#include <fmt/format.h>

#include <algorithm>

#include "det/base/text.h"
#include "det/master/elastic/provider.h"
#include "det/master/elastic/run_program.h"
#include "det/master/elastic/slurm_text.h"

namespace det::master {
namespace {

class Slurm final : public Provider {
 public:
  Slurm(ProviderSettings settings, PilotSettings pilot)
      : settings_(std::move(settings)), pilot_(std::move(pilot)) {}

  Result<void> check() override {
    if (settings_.partition.empty()) return ask({"scontrol", "ping"}).map([](const auto&) {});
    return ask({"scontrol", "-o", "show", "partition", settings_.partition}).map([](const auto&) {});
  }

  Result<std::string> submit(const EngineRequest& request) override {
    DET_TRY(const auto out,
            ask(sbatch_words(settings_, pilot_, request), slurm_script(settings_, pilot_, request),
                {{"DET_PILOT_TOKEN", request.token}}));
    return std::string(trim(out.substr(0, out.find(';'))));  // "4711;cluster" where there are several
  }

  Result<std::vector<EngineJob>> list(const std::string& prefix) override {
    DET_TRY(const auto out, ask(squeue_words(), "", {{"SLURM_TIME_FORMAT", "%s"}}));
    return read_squeue(out, prefix, settings_.time_limit);
  }

  Result<void> cancel(const std::vector<EngineJob>& jobs) override {
    std::vector<std::string> words = {"scancel"};
    for (const auto& job : jobs) words.push_back(job.id);
    return ask(words).map([](const auto&) {});
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
