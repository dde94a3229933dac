// What trials ran in: reported by their processes, read by users.

#include "det/master/identity/secret.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

constexpr std::size_t kBytesMax = 256 << 10;

// What python/determined/_environment.py reports of a process.
struct FoundGpu {
  std::optional<std::string> name;
  std::optional<double> memory_bytes;
  std::optional<std::string> capability;
  static constexpr bool kSnakeCase = true;
};
BOOST_DESCRIBE_STRUCT(FoundGpu, (), (name, memory_bytes, capability))
struct FoundHardware {
  std::optional<std::string> hostname, cpu;
  std::optional<std::int32_t> cores, usable_cores;
  std::optional<Nullable<double>> memory_bytes;
  std::optional<std::vector<FoundGpu>> gpus;
  std::optional<Nullable<std::string>> gpu_driver;
  static constexpr bool kSnakeCase = true;
};
BOOST_DESCRIBE_STRUCT(FoundHardware, (), (hostname, cpu, cores, usable_cores, memory_bytes, gpus, gpu_driver))
struct ProcessEnvironment {
  std::optional<std::map<std::string, Nullable<std::string>>> versions;  ///< of Python, PyTorch, CUDA, …
  std::optional<std::map<std::string, std::string>> os;
  std::optional<FoundHardware> hardware;
  std::optional<json::object> switches;  ///< that decide whether results can be reproduced
  std::optional<std::map<std::string, std::string>> variables;  ///< that configure libraries
  std::optional<std::vector<std::string>> packages;             ///< as pip writes them
};
BOOST_DESCRIBE_STRUCT(ProcessEnvironment, (), (versions, os, hardware, switches, variables, packages))

struct ReportRequest {
  TrialId trial_id;
  std::int32_t rank = 0;
  Documented<ProcessEnvironment> environment;
  static bool required(std::string_view name) { return name == "environment"; }
};
BOOST_DESCRIBE_STRUCT(ReportRequest, (), (trial_id, rank, environment))

struct OfTrial {
  TrialId trial_id;
};
BOOST_DESCRIBE_STRUCT(OfTrial, (), (trial_id))
/// A process that found this environment: the first rank on each machine of each run tells.
struct Finding {
  std::int32_t run_id = 0, rank = 0;
  Time report_time;
};
BOOST_DESCRIBE_STRUCT(Finding, (), (run_id, rank, report_time))
struct FoundEnvironment {
  Documented<ProcessEnvironment> environment;
  std::vector<Finding> found;
};
BOOST_DESCRIBE_STRUCT(FoundEnvironment, (), (environment, found))
struct Seeds {
  std::int32_t trial = 0;
  std::optional<std::int32_t> experiment;
};
BOOST_DESCRIBE_STRUCT(Seeds, (), (trial, experiment))
struct EnvironmentsReply {
  std::vector<FoundEnvironment> environments;  ///< that of the newest run first; equal ones once
  Seeds seeds;
  Documented<api::Git> git;  ///< of what was submitted
};
BOOST_DESCRIBE_STRUCT(EnvironmentsReply, (), (environments, seeds, git))

/// Null means "not given", and the document of the API promises no null in its place.
void drop_nulls(json::value& found, const json::value& read) {
  if (found.is_array() && read.is_array()) {
    for (std::size_t i = 0; i < found.get_array().size() && i < read.get_array().size(); ++i) {
      auto& item = found.get_array()[i];
      if (item.is_null()) item = read.get_array()[i];
      drop_nulls(item, read.get_array()[i]);
    }
  } else if (found.is_object() && read.is_object()) {
    auto& members = found.get_object();
    for (auto member = members.begin(); member != members.end();) {
      const auto* same = read.get_object().if_contains(member->key());
      if (member->value().is_null() && (same == nullptr || !same->is_null())) {
        member = members.stable_erase(member);
        continue;
      }
      if (same != nullptr) drop_nulls(member->value(), *same);
      ++member;
    }
  }
}

asio::awaitable<Result<Empty>> add(Services& s, Context context, ReportRequest request) {
  const auto who = co_await reporter(s, context.principal, request.trial_id);
  if (!who) co_return tl::unexpected(who.error());
  const auto id =
      who->allocation_id;  // empty: outside the cluster, where nobody knows how many ranks there are
  std::size_t size = 0;
  if (const auto* allocation = s.ledger.cluster().allocation(id))
    for (const auto& share : allocation->record.shares) size += share.slots.size();
  if (request.rank < 0 ||
      (!id.empty() && static_cast<std::size_t>(request.rank) >= std::max<std::size_t>(size, 1)))
    co_return invalid_argument("rank is {}; it must be a rank of allocation {}, from 0 to {}", request.rank,
                               id, std::max<std::size_t>(size, 1) - 1);
  json::value environment = std::move(request.environment.value);
  const auto told = http::from_wire<ProcessEnvironment>(environment);
  if (!told) co_return invalid_argument("environment: {}", told.error().message());
  drop_nulls(environment, http::to_wire(*told));
  const auto text = json::serialize(environment);
  if (text.size() > kBytesMax)
    co_return invalid_argument("environment has {} bytes; at most {} are allowed for a process", text.size(),
                               kBytesMax);
  if (s.store.overloaded())
    co_return fail(ErrorCode::Unavailable, "the database cannot keep up with the reports; retry in a moment");
  store::EnvironmentRecord record{.trial_id = request.trial_id,
                                  .run_id = who->run_id,
                                  .rank = request.rank,
                                  .digest = digest(text),
                                  .environment = std::move(environment.get_object()),
                                  .report_time = s.ledger.now()};
  std::vector<store::Change> changes;
  changes.push_back(store::AddEnvironment{std::move(record)});
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

std::optional<std::int32_t> experiment_seed(const json::object& config) {
  const auto* section = config.if_contains("reproducibility");
  const auto* seed = section != nullptr && section->is_object()
                         ? section->get_object().if_contains("experiment_seed")
                         : nullptr;
  const auto number = seed == nullptr ? std::nullopt : json::to_int64(*seed);
  return number ? std::optional(static_cast<std::int32_t>(*number)) : std::nullopt;
}

std::optional<EnvironmentsReply> read(store::Store& store, TrialId id) {
  const auto trial = store.trial(id);
  if (!trial) return std::nullopt;
  EnvironmentsReply reply;
  reply.seeds.trial = static_cast<std::int32_t>(trial->seed);
  if (auto experiment = store.experiment(trial->experiment_id)) {
    reply.seeds.experiment = experiment_seed(experiment->config);
    reply.git = {std::move(experiment->git)};
  }
  std::map<std::string, std::size_t> places;  // in the reply, by digest
  for (auto& record : store.environments(id)) {
    const auto [place, fresh] = places.emplace(record.digest, reply.environments.size());
    if (fresh) reply.environments.push_back({{std::move(record.environment)}, {}});
    reply.environments[place->second].found.push_back(
        {static_cast<std::int32_t>(record.run_id), record.rank, record.report_time});
  }
  return reply;
}

asio::awaitable<Result<EnvironmentsReply>> list(Services& s, OfTrial query) {
  auto work = [&s, id = query.trial_id] { return read(s.store, id); };
  auto reply = co_await offload(s, std::move(work));
  if (!reply) co_return not_found("trial '{}' not found", query.trial_id);
  co_return *std::move(reply);
}

}  // namespace

void add_environment_routes(http::Router& router, Services& s) {
  router.add<ReportRequest, Empty>(
      Verb::Post, "/api/v1/trials/{trialId}/environment",
      [&s](Context c, ReportRequest r) { return add(s, std::move(c), std::move(r)); },
      Doc{.summary = "Report the environment of a process; the newest report of a run and rank counts",
          .tag = "Trial processes",
          .errors = {ErrorCode::NotFound, ErrorCode::Gone}});
  router.add<OfTrial, EnvironmentsReply>(
      Verb::Get, "/api/v1/trials/{trialId}/environment",
      [&s](Context, OfTrial q) { return list(s, std::move(q)); },
      Doc{.summary = "Get the environment of each run of a trial: packages, hardware, flags and seeds",
          .tag = "Trials",
          .errors = {ErrorCode::NotFound}});
}

}  // namespace det::master
