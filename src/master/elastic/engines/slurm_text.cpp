#include "det/master/elastic/engines/slurm_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "det/base/text.h"
#include "det/master/administration/section.h"

namespace det::master {
namespace {

constexpr char kSeparator = '\x1f';

EngineJob::State state_of(const std::string& state) {
  for (const auto* running : {"RUNNING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING"})
    if (state == running) return EngineJob::State::Running;
  for (const auto* pending : {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD",
                              "RESV_DEL_HOLD", "SPECIAL_EXIT", "STAGE_OUT"})
    if (state == pending) return EngineJob::State::Pending;
  return EngineJob::State::Ended;  // COMPLETING, too: nothing of it runs on
}

/// When a job ends: as Slurm says, which counts in minutes, or as the pool does, which may be earlier.
std::optional<Time> end_of(const std::string& end, const std::string& start, std::int64_t time_limit) {
  const auto seconds = [](const std::string& text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  auto ends = seconds(end);
  if (const auto started = seconds(start); started > 0 && time_limit > 0)
    ends = ends > 0 ? std::min(ends, started + time_limit) : started + time_limit;
  if (ends <= 0) return std::nullopt;
  return Time{ends * kSecond};
}

}  // namespace

std::vector<std::string> sbatch_words(const ProviderSettings& settings, const PilotSettings& pilot,
                                      const EngineRequest& request) {
  std::vector<std::string> words = {"sbatch",
                                    "--parsable",
                                    "--job-name=" + request.name,
                                    fmt::format("--nodes={}", request.nodes),
                                    "--ntasks-per-node=1",
                                    "--export=DET_PILOT_TOKEN",
                                    "--chdir=/",
                                    "--requeue",
                                    fmt::format("--signal=B:USR1@{}", settings.limits.grace_period),
                                    fmt::format("--output={}/%x.log", pilot.log_dir)};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.push_back(fmt::format("--{}={}", option, for_owner(value, request.owner)));
  };
  if (!request.task.empty()) add("comment", fmt::format("det {} of {}", request.task, request.owner));
  add("partition", settings.partition);
  add("account", settings.account);
  add("qos", settings.qos);
  add("reservation", settings.reservation);
  add("gres", settings.gres);
  add("constraint", settings.constraint);
  add("mem", settings.mem);
  if (settings.cpus_per_node > 0) add("cpus-per-task", std::to_string(settings.cpus_per_node));
  if (settings.time_limit > 0)
    add("time", fmt::format("{}:{:02}", settings.time_limit / 60, settings.time_limit % 60));
  for (const auto& option : settings.extra) words.push_back(for_owner(option, request.owner));
  return words;
}

std::vector<std::string> as_owner(const ProviderSettings& settings, const std::string& owner,
                                  std::vector<std::string> words) {
  std::vector<std::string> all;
  for (const auto& word : settings.as_owner) all.push_back(for_owner(word, owner));
  std::ranges::move(words, std::back_inserter(all));
  return all;
}

bool is_account(const std::string& owner) {
  const auto fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  };
  return !owner.empty() && owner.size() <= 64 && std::ranges::all_of(owner, fine) && owner.front() != '-' &&
         owner != "root";
}

std::string slurm_script(const ProviderSettings& settings, const PilotSettings& pilot,
                         const EngineRequest& request) {
  // srun would pass on only what --export named.
  return fmt::format(
             "#!/bin/bash\n# Agents of Determined on the machines of allotment {}.\nexport "
             "SLURM_EXPORT_ENV=ALL\n",
             request.id) +
         job_script("srun --ntasks-per-node=1 --kill-on-bad-exit=0", pilot_script(settings, pilot, request));
}

std::vector<std::string> squeue_words(bool of_all_users) {
  std::string format;
  for (const auto* field : {"JobID", "State", "Reason", "EndTime", "StartTime", "Name", "UserName"})
    format += fmt::format("{}{}:{}", format.empty() ? "" : ",", field, kSeparator);
  std::vector<std::string> words = {"squeue", "-a", "-t", "all", "-h", "-O", format};
  if (!of_all_users) words.emplace_back("--me");
  return words;
}

Result<std::vector<EngineJob>> read_squeue(const std::string& text, const std::string& prefix,
                                           std::int64_t time_limit) {
  std::vector<EngineJob> jobs;
  for (const auto& line : split(text, '\n')) {
    if (line.empty()) continue;
    const auto fields = split(line, kSeparator);
    if (fields.size() < 7) return fail(ErrorCode::Unavailable, "Slurm: squeue wrote '{}'", line);
    if (!fields[5].starts_with(prefix)) continue;
    EngineJob job{.name = fields[5], .id = fields[0], .state = state_of(fields[1]), .user = fields[6]};
    if (job.state == EngineJob::State::Running) job.ends = end_of(fields[3], fields[4], time_limit);
    switch (job.state) {
      case EngineJob::State::Pending:
        job.reason = fmt::format("job {} is {}: {}", job.id, to_lower(fields[1]), fields[2]);
        break;
      case EngineJob::State::Running: job.reason = fmt::format("job {} is running", job.id); break;
      case EngineJob::State::Ended:
        job.reason = fmt::format("job {} ended: {}", job.id, fields[1]);
        if (!fields[2].empty() && fields[2] != "None") job.reason += fmt::format(" ({})", fields[2]);
        break;
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::optional<std::int64_t> partition_limit(const std::string& text, const std::string& name) {
  for (const auto& line : split(text, '\n')) {
    std::map<std::string, std::string> facts;
    for (const auto& word : split(line, ' ')) {
      const std::string fact(word);
      if (const auto at = fact.find('='); at != std::string::npos)
        facts[fact.substr(0, at)] = fact.substr(at + 1);
    }
    if (name.empty() ? facts["Default"] != "YES" : facts["PartitionName"] != name) continue;
    const auto own = time_span(facts["DefaultTime"]);
    return own ? own : time_span(facts["MaxTime"]);  // NONE and UNLIMITED are no times
  }
  return std::nullopt;
}

std::string slurm_error(const std::string& text) {
  // The last "error:" says what the earlier ones lead to; a line without it is of another program.
  std::string said;
  for (const auto& line : split(text, '\n')) {
    const auto at = line.find("error: ");
    if (at != std::string::npos)
      said = line.substr(at + 7);
    else if (said.empty() && !trim(line).empty())
      said = trim(line);
  }
  constexpr std::string_view kPrefix = "Batch job submission failed: ";
  if (said.starts_with(kPrefix)) said.erase(0, kPrefix.size());
  return said;
}

bool is_slurm_silent(const std::string& text) {
  for (const auto* words :
       {"Unable to contact slurm controller", "Connection refused", "Connection timed out",
        "Socket timed out", "Zero Bytes were transmitted", "Slurm backup controller",
        "Communication connection failure", "Slurm temporarily unable"})
    if (text.find(words) != std::string::npos) return true;
  return false;
}

}  // namespace det::master
