// What a shell offers of what a master has: ids and names.

#include <chrono>
#include <map>

#include "det/cli/completion/completion.h"
#include "det/cli/output/format.h"
#include "det/http/client/client.h"

namespace det::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kTabPatience = 1s;
constexpr std::size_t kOfferedMax = 50;

/// Where things of a kind are listed, and what of each is offered and said.
struct Listed {
  std::string path, member, word, help, state = {};
};

const Listed* list_of(const std::string& kind) {
  static const std::string newest = "?limit=50&orderBy=ORDER_BY_DESC&sortBy=SORT_BY_";
  static const Listed experiments{"/api/v1/experiments" + newest + "ID&archived=false", "experiments", "id",
                                  "name", "state"};
  static const Listed users{"/api/v1/users?active=true", "users", "username", "displayName"};
  static const Listed workspaces{"/api/v1/workspaces?archived=false", "workspaces", "name", ""};
  static const Listed models{"/api/v1/models", "models", "name", "description"};
  static const Listed agents{"/api/v1/agents", "agents", "id", ""};
  static const std::map<std::string, Listed> kLists = {
      {"EXPERIMENT_ID", experiments},
      {"EXPERIMENT_IDS", experiments},
      {"JOB_ID", {"/api/v1/job-queues-v2?limit=50", "jobs", "full.jobId", "full.name"}},
      {"USERNAME", users},
      {"USER", users},
      {"USERS", users},
      {"WORKSPACE", workspaces},
      {"AGENT_ID", agents},
      {"POOL", {"/api/v1/resource-pools", "resourcePools", "name", "description"}},
      {"model NAME", models},
      {"template NAME", {"/api/v1/templates", "templates", "name", ""}},
      {"WEBHOOK", {"/api/v1/webhooks", "webhooks", "id", "url"}},
      {"TOKEN_ID", {"/api/v1/tokens", "tokenInfo", "id", "description"}},
      {"command ID", {"/api/v1/commands?limit=50", "commands", "id", "description", "state"}},
      {"notebook ID", {"/api/v1/notebooks?limit=50", "notebooks", "id", "description", "state"}},
      {"shell ID", {"/api/v1/shells?limit=50", "shells", "id", "description", "state"}},
      {"tensorboard ID", {"/api/v1/tensorboards?limit=50", "tensorboards", "id", "description", "state"}}};
  const auto found = kLists.find(kind);
  return found == kLists.end() ? nullptr : &found->second;
}

class QuickMaster {
 public:
  QuickMaster(const std::vector<http::Url>& urls, std::string token)
      : client_(urls, {.connect_timeout = kTabPatience}), token_(std::move(token)) {}

  /// Null where there is no answer in time.
  json::value call(std::string path) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now());
    if (left <= 0ms) return nullptr;
    http::Call call;
    call.path = std::move(path);
    call.headers.add("Authorization", "Bearer " + token_);
    call.timeout = left;
    const auto reply = client_.request(std::move(call));
    if (!reply || !reply->ok()) return nullptr;
    auto answer = json::parse(reply->body);
    return answer ? *std::move(answer) : json::value(nullptr);
  }

 private:
  http::Client client_;
  std::string token_;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + kTabPatience;
};

void offer(std::vector<Candidate>& offered, const std::string& prefix, const json::value& item,
           const Listed& list) {
  const auto word = cell_text(at(item, list.word));
  if (word.empty() || !word.starts_with(prefix) || offered.size() >= kOfferedMax) return;
  auto help = list.help.empty() ? std::string() : text_at(item, list.help);
  if (!list.state.empty()) help += fmt::format(" ({})", cell_text(state_cell(at(item, list.state))));
  offered.push_back({word, help});
}

/// Of what is listed by experiment only: that of the newest experiments.
std::vector<Candidate> offer_of_newest(QuickMaster& master, const std::string& prefix,
                                       const std::string& path, const Listed& list) {
  constexpr int kExperiments = 5;
  std::vector<Candidate> offered;
  const auto& experiments = *list_of("EXPERIMENT_ID");
  const auto newest = master.call(experiments.path);
  int asked = 0;
  for (const auto& experiment : list_at(newest, experiments.member)) {
    if (++asked > kExperiments) break;
    const auto id = cell_text(at(experiment, "id"));
    const auto answer = master.call(fmt::format(fmt::runtime(path), id));
    const auto before = offered.size();
    for (const auto& item : list_at(answer, list.member)) offer(offered, prefix, item, list);
    for (auto i = before; i < offered.size(); ++i) offered[i].help = "of experiment " + id + offered[i].help;
  }
  return offered;
}

}  // namespace

AskMaster ask_over_http(const Variables& variables, const std::string& usual,
                        const std::vector<std::string>& words) {
  return [variables, usual, words](const std::string& kind,
                                   const std::string& prefix) -> std::vector<Candidate> {
    std::string address = usual;
    std::optional<std::string> user = variable(variables, "DET_USER");
    for (std::size_t i = 0; i + 1 < words.size() && words[i].starts_with('-'); i += 2) {
      if (words[i] == "-m" || words[i] == "--master") address = words[i + 1];
      if (words[i] == "-u" || words[i] == "--user") user = words[i + 1];
    }
    const auto urls = http::parse_urls(address);
    if (!urls) return {};
    auto token = variable(variables, "DET_USER_TOKEN");
    if (!token) {
      const AuthCache cache(config_directory(variables), urls->front().text());
      if (!user)
        if (const auto active = cache.active_user(); active && *active) user = **active;
      const auto kept = cache.token(user.value_or("determined"));
      if (kept && *kept) token = **kept;
    }
    if (!token) return {};
    QuickMaster master(*urls, *token);
    if (kind == "TRIAL_ID")
      return offer_of_newest(master, prefix,
                             "/api/v1/experiments/{}/trials?limit=50&orderBy=ORDER_BY_DESC&sortBy=SORT_BY_ID",
                             {"", "trials", "id", "", "state"});
    if (kind == "UUID" || kind == "UUIDS")
      return offer_of_newest(master, prefix,
                             "/api/v1/experiments/{}/checkpoints?limit=50&states=STATE_COMPLETED",
                             {"", "checkpoints", "uuid", ""});
    const auto* list = list_of(kind);
    if (list == nullptr) return {};
    std::vector<Candidate> offered;
    const auto answer = master.call(list->path);
    for (const auto& item : list_at(answer, list->member)) offer(offered, prefix, item, *list);
    return offered;
  };
}

}  // namespace det::cli
