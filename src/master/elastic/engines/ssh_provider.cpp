// Machines without an engine: one pilot each, by ssh.

#include <algorithm>
#include <future>
#include <map>

#include "det/base/text.h"
#include "det/master/elastic/engines/ssh_text.h"
#include "det/master/elastic/pilot_bundle.h"
#include "det/master/elastic/provider.h"
#include "det/master/elastic/run_program.h"

namespace det::master {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr seconds kSshPatience{30};
constexpr seconds kCopyPatience{600};
constexpr seconds kFresh{3};  ///< a list is not repeated sooner
constexpr seconds kAgainFirst{
    10};  ///< when a machine that does not answer is tried again; then ever later, up to
constexpr seconds kAgainLast{120};
constexpr seconds kGone{60};  ///< a machine that has not answered for so long has lost its pilot

struct Host {
  std::string name;
  std::vector<SshPilot> pilots{};  ///< as it last answered
  std::string trouble{};           ///< why it cannot be used now: "does not answer: …"; empty: it can
  Clock::time_point silent_since{}, again{};
  seconds pause = kAgainFirst;
  std::map<std::string, Clock::time_point> ending{};  ///< when its pilots were last told to leave, by name

  bool busy() const {
    return std::ranges::any_of(pilots, [](const auto& pilot) { return pilot.running; });
  }
};

class Ssh final : public Provider {
 public:
  Ssh(ProviderSettings settings, PilotSettings pilot)
      : settings_(std::move(settings)), pilot_(std::move(pilot)), bundle_(pilot_.log_dir) {
    for (const auto& name : settings_.hosts) hosts_.push_back({.name = name});
  }

  Result<void> check() override {
    DET_TRY([[maybe_unused]] const auto version, run_program({"ssh", "-V"}));
    return look().map([] {});
  }

  Result<std::vector<EngineJob>> list(const std::string& prefix) override {
    // Only this master adds to what runs there.
    const bool quiet =
        std::ranges::all_of(hosts_, [](const Host& h) { return h.trouble.empty() && !h.busy(); });
    if (!quiet && Clock::now() - looked_at_ >= kFresh) {
      if (const auto looked = look(); !looked) return tl::unexpected(looked.error());
    }
    return jobs(prefix);
  }

  Result<std::string> submit(const EngineRequest& request) override {
    // Who is free is looked at now: a machine may have restarted since.
    if (Clock::now() - looked_at_ >= kFresh) {
      if (const auto looked = look(); !looked) return tl::unexpected(looked.error());
    }
    std::vector<Host*> free;
    std::string why;
    for (auto& host : hosts_) {
      if (host.trouble.empty() && !host.busy()) {
        if (std::ssize(free) < request.nodes) free.push_back(&host);
        continue;
      }
      why +=
          fmt::format("; {} {}", host.name, host.trouble.empty() ? "runs " + running_on(host) : host.trouble);
    }
    if (std::ssize(free) < request.nodes)
      return fail(ErrorCode::Unavailable, "{} of {} machines are free{}", free.size(), hosts_.size(), why);
    std::string id;
    for (int node = 0; node < request.nodes; ++node) {
      auto& host = *free[static_cast<std::size_t>(node)];
      auto pid = start(host, request, node);
      if (!pid) {
        if (pid.error().code() != ErrorCode::ResourceExhausted) lost(host, pid.error().message());
        for (auto* other : free) end(*other, request.name);
        return fail(ErrorCode::Unavailable, "{} {}", host.name, pid.error().message());
      }
      host.pilots.push_back({.name = request.name, .node = node, .pid = *pid, .running = true});
      id += fmt::format("{}{}:{}", id.empty() ? "" : ",", host.name, *pid);
    }
    return id;
  }

  std::string log_of(const std::string& name) const override {
    return fmt::format("~/.local/state/det/pilots/{}.NODE.log", name);
  }

  Result<void> cancel(const std::vector<EngineJob>& jobs) override {
    for (const auto& job : jobs)
      for (auto& host : hosts_) end(host, job.name);
    looked_at_ = {};
    return {};
  }

 private:
  Result<ProgramEnd> run(const Host& host, const std::string& script, seconds patience = kSshPatience) const {
    DET_TRY(auto end, run_program(ssh_words(settings_, host.name), script, {}, patience));
    if (end.status == kSshFailed)
      return fail(ErrorCode::Unavailable, "{}", end.err.empty() ? "ssh failed" : ssh_error(end.err));
    return end;
  }

  /// Asks every machine, all at once, what it runs. Unavailable: none answers.
  Result<void> look() {
    const auto now = Clock::now();
    std::vector<std::pair<Host*, std::future<Result<std::vector<SshPilot>>>>> asked;
    for (auto& host : hosts_)
      if (host.trouble.empty() || now >= host.again)
        asked.emplace_back(&host,
                           std::async(std::launch::async, [this, &host]() -> Result<std::vector<SshPilot>> {
                             DET_TRY(const auto end, run(host, ssh_list_script()));
                             return read_ssh_pilots(end.out);
                           }));
    for (auto& [host, answer] : asked) {
      auto pilots = answer.get();
      if (pilots) {
        host->pilots = *std::move(pilots);
        host->trouble.clear();
        host->pause = kAgainFirst;
        continue;
      }
      if (pilots.error().code() == ErrorCode::NotFound) return tl::unexpected(pilots.error());
      lost(*host, "does not answer: " + pilots.error().message());
    }
    looked_at_ = Clock::now();
    std::string all;
    for (const auto& host : hosts_) {
      if (host.trouble.empty()) return {};
      all += fmt::format("{}{} {}", all.empty() ? "" : "; ", host.name, host.trouble);
    }
    // What ran there is not forgotten for a while.
    if (std::ranges::any_of(hosts_, [](const Host& host) { return host.busy(); })) return {};
    return fail(ErrorCode::Unavailable, "no machine can be used: {}", all);
  }

  /// It is tried again later, and ever later.
  static void lost(Host& host, const std::string& trouble) {
    const auto now = Clock::now();
    if (host.trouble.empty()) host.silent_since = now;
    host.trouble = trouble;
    host.again = now + host.pause;
    host.pause = std::min(host.pause * 2, kAgainLast);
  }

  std::vector<EngineJob> jobs(const std::string& prefix) {
    std::map<std::string, std::map<int, std::pair<Host*, SshPilot>>> found;
    for (auto& host : hosts_)
      for (const auto& pilot : host.pilots)
        if (pilot.name.starts_with(prefix)) found[pilot.name].emplace(pilot.node, std::pair(&host, pilot));
    std::vector<EngineJob> jobs;
    for (auto& [name, nodes] : found) {
      EngineJob job{.name = name, .state = EngineJob::State::Running};
      std::string where, trouble;
      for (auto& [number, node] : nodes) {
        auto& [host, pilot] = node;
        job.id += fmt::format("{}{}:{}", job.id.empty() ? "" : ",", host->name, pilot.pid);
        where += fmt::format("{}{}", where.empty() ? "" : ", ", host->name);
        if (!host->trouble.empty()) trouble = fmt::format("{} {}", host->name, host->trouble);
        const bool gone = !host->trouble.empty() && Clock::now() - host->silent_since > kGone;
        if (pilot.running && !gone) continue;
        if (job.state != EngineJob::State::Ended) job.reason = gone ? trouble : host->name + ": " + pilot.why;
        job.state = EngineJob::State::Ended;
      }
      if (job.state == EngineJob::State::Ended)  // a gang that has lost a node gives back the others
        for (auto& host : hosts_) end(host, name);
      else
        job.reason = trouble.empty() ? "runs on " + where : trouble;
      jobs.push_back(std::move(job));
    }
    for (auto& host : hosts_)
      if (!host.trouble.empty() && Clock::now() - host.silent_since > kGone) host.pilots.clear();
    return jobs;
  }

  static std::string running_on(const Host& host) {
    for (const auto& pilot : host.pilots)
      if (pilot.running) return pilot.name;
    return "";
  }

  /// The process id of the pilot. Copies the program first where it is not there.
  Result<int> start(Host& host, const EngineRequest& request, int node) {
    std::string copy;
    if (settings_.program.empty()) {
      DET_TRY(copy, bundle_.name());
    }
    const auto script = ssh_start_script(settings_, pilot_, request, node, copy);
    auto ended = run(host, script);
    if (ended && ended->status == kNotCopied) {
      DET_TRY(const auto tar, bundle_.tar());
      DET_TRY(const auto copied,
              run_program(ssh_words(settings_, host.name, ssh_copy_command(copy)), tar, {}, kCopyPatience));
      if (copied.status != 0)
        return fail(ErrorCode::Unavailable, "cannot take a copy of the program: {}", ssh_error(copied.err));
      ended = run(host, script);
    }
    if (!ended) return fail(ErrorCode::Unavailable, "does not answer: {}", ended.error().message());
    if (ended->status == kBusy) {  // of another master, since the machine was looked at
      host.pilots.push_back({.name = std::string(trim(ended->out)), .running = true});
      return fail(ErrorCode::ResourceExhausted, "runs {}", trim(ended->out));
    }
    const auto pid = std::atoi(ended->out.c_str());
    if (ended->status != 0 || pid <= 1)
      return fail(ErrorCode::Unavailable, "cannot start a pilot: {}",
                  ended->err.empty() ? fmt::format("exit status {}", ended->status) : ssh_error(ended->err));
    return pid;
  }

  void end(Host& host, const std::string& name) {
    std::vector<SshPilot> ours;
    if (auto& asked = host.ending[name]; Clock::now() - asked > kSshPatience)
      asked = Clock::now();
    else
      return;
    for (const auto& pilot : host.pilots)
      if (pilot.running && pilot.name == name) ours.push_back(pilot);
    if (!ours.empty() && host.trouble.empty()) (void)run(host, ssh_end_script(ours));
    if (ours.empty()) host.ending.erase(name);
  }

  ProviderSettings settings_;
  PilotSettings pilot_;
  PilotBundle bundle_;
  std::vector<Host> hosts_;
  Clock::time_point looked_at_{};
};

}  // namespace

std::unique_ptr<Provider> make_ssh(const ProviderSettings& settings, const PilotSettings& pilot) {
  return std::make_unique<Ssh>(settings, pilot);
}

}  // namespace det::master
