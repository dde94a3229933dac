// Ray, by a helper in the Python that has it: the process programs/ray_helper.py, started when it is needed.

#include <filesystem>

#include "det/master/elastic/engines/ray_text.h"
#include "det/master/elastic/line_program.h"
#include "det/master/elastic/pilot_bundle.h"
#include "det/master/elastic/provider.h"
#include "elastic_programs_files.h"

namespace det::master {
namespace {

constexpr std::chrono::seconds kPatience{30};
constexpr std::chrono::minutes kIdle{2};  ///< then the helper ends

std::string program_text(std::string_view path) {
  for (const auto& file : elastic_programs::files())
    if (file.path == path) return std::string(file.content());
  return "";
}

class Ray final : public Provider {
 public:
  Ray(ProviderSettings settings, PilotSettings pilot)
      : settings_(std::move(settings)), pilot_(std::move(pilot)), keeper_(program_text("/pilot_keeper.py")) {
    if (settings_.python.empty()) settings_.python = usual_python();
    if (settings_.work_dir.empty()) settings_.work_dir = "/tmp";
  }

  Result<void> check() override {
    return ask({{"op", "check"}}).map([](const auto&) {});
  }

  Result<std::string> submit(const EngineRequest& request) override {
    nothing_there_ = false;
    DET_TRY(auto answer, ask(ray_submission(settings_, pilot_, request, keeper_)));
    return std::string(answer.at("id").get_string());
  }

  Result<std::vector<EngineJob>> list(const std::string& prefix) override {
    if (nothing_there_) {  // nobody but this master adds to it
      if (std::chrono::steady_clock::now() - asked_at_ > kIdle) helper_.stop();
      return std::vector<EngineJob>();
    }
    DET_TRY(const auto answer, ask({{"op", "list"}, {"prefix", prefix}}));
    DET_TRY(auto jobs, read_ray_jobs(answer, settings_.time_limit));
    nothing_there_ = jobs.empty();
    return jobs;
  }

  std::string log_of(const std::string& name) const override {
    return fmt::format("{}/{}.NODE.log", pilot_.log_dir, name);
  }

  Result<void> cancel(const std::vector<EngineJob>& jobs) override {
    json::array list;
    for (const auto& job : jobs) list.push_back({{"name", job.name}, {"id", job.id}});
    return ask({{"op", "cancel"}, {"jobs", std::move(list)}}).map([](const auto&) {});
  }

 private:
  Result<json::object> ask(json::object request) {
    asked_at_ = std::chrono::steady_clock::now();
    if (!helper_.running()) {
      const auto started = helper_.start({settings_.python, "-c", program_text("/ray_helper.py")},
                                         (std::filesystem::path(pilot_.log_dir) / "ray.log").string());
      if (!started && started.error().code() == ErrorCode::NotFound)
        return fail(ErrorCode::FailedPrecondition, "Ray: {}; name a Python that has Ray in provider.python",
                    started.error().message());
      if (!started) return tl::unexpected(started.error());
    }
    request["address"] = settings_.address;
    const auto line = helper_.ask(json::serialize(request), kPatience);
    if (!line)
      return fail(ErrorCode::Unavailable, "Ray does not answer: its helper: {}; see ray.log in {}",
                  line.error().message(), pilot_.log_dir);
    auto answer = read_ray_answer(*line);
    if (!answer && answer.error().code() == ErrorCode::Unavailable) helper_.stop();  // it ends, too
    return answer;
  }

  ProviderSettings settings_;
  PilotSettings pilot_;
  std::string keeper_;
  LineProgram helper_;
  std::chrono::steady_clock::time_point asked_at_;
  bool nothing_there_ = false;
};

}  // namespace

std::unique_ptr<Provider> make_ray(const ProviderSettings& settings, const PilotSettings& pilot) {
  return std::make_unique<Ray>(settings, pilot);
}

}  // namespace det::master
