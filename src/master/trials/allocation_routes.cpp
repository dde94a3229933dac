// What the processes of an allocation ask and say as such: when to give way, and to each other;
// docs/reference/protocols.md §2.

#include <algorithm>

#include "det/master/trials/allocations.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

constexpr std::chrono::minutes kAllMax{10};
constexpr std::int32_t kPeersMax = 10'000;
constexpr std::size_t kDataBytesMax = 1 << 20;

struct SaidQuery {
  std::string allocation_id;
};
BOOST_DESCRIBE_STRUCT(SaidQuery, (), (allocation_id))
struct DevicesRequest {
  std::string allocation_id;
  json::object accelerator_data;
};
BOOST_DESCRIBE_STRUCT(DevicesRequest, (), (allocation_id, accelerator_data))

struct PeerRequest {
  std::string allocation_id, request_uuid;
  std::int32_t num_peers = 0;
  json::object data;
  static bool required(std::string_view name) { return name == "num_peers"; }
};
BOOST_DESCRIBE_STRUCT(PeerRequest, (), (allocation_id, request_uuid, num_peers, data))
struct PeersReply {
  std::vector<json::object> data;
};
BOOST_DESCRIBE_STRUCT(PeersReply, (), (data))

struct PreemptionQuery {
  std::string allocation_id;
  double timeout_seconds = 0;
  bool strict =
      false;  ///< 410 once the allocation is over: our own processes then end without writing anything
};
BOOST_DESCRIBE_STRUCT(PreemptionQuery, (), (allocation_id, timeout_seconds, strict))
struct PreemptionReply {
  bool preempt = false;
  std::int64_t preemption = 0;  ///< which one of this run
};
BOOST_DESCRIBE_STRUCT(PreemptionReply, (), (preempt, preemption))
struct AcknowledgeRequest {
  std::string allocation_id;
  std::optional<bool> can_wait;
  std::optional<std::int64_t> preemption;
};
BOOST_DESCRIBE_STRUCT(AcknowledgeRequest, (), (allocation_id, can_wait, preemption))
struct ProxyAddressRequest {
  std::string allocation_id, proxy_address;
};
BOOST_DESCRIBE_STRUCT(ProxyAddressRequest, (), (allocation_id, proxy_address))
struct DaemonRequest {
  std::string allocation_id, resources_id;
};
BOOST_DESCRIBE_STRUCT(DaemonRequest, (), (allocation_id, resources_id))
struct WishQuery {
  std::string allocation_id;
  std::int64_t preemption = 0;
  double timeout_seconds = 0;
};
BOOST_DESCRIBE_STRUCT(WishQuery, (), (allocation_id, preemption, timeout_seconds))
struct WishReply {
  std::string wish;  ///< WAIT, GO_ON or LEAVE
};
BOOST_DESCRIBE_STRUCT(WishReply, (), (wish))

/// Peers of one allocation that wait for each other.
struct Round {
  std::map<std::string, json::object> data;  ///< by the request's id
  std::int32_t peers = 0;
  bool full() const { return static_cast<std::int32_t>(data.size()) == peers; }
};
/// The last round of each allocation. Not remembered over a restart: a peer that hears nothing asks again.
using Rounds = std::map<std::string, std::shared_ptr<Round>>;

/// The round that this peer belongs to: that in which it asked before, else the one that is not full.
Result<std::shared_ptr<Round>> join(Rounds& rounds, PeerRequest request) {
  if (request.num_peers < 1 || request.num_peers > kPeersMax)
    return invalid_argument("numPeers is {}; it must be from 1 to {}", request.num_peers, kPeersMax);
  if (const auto size = json::serialize(request.data).size(); size > kDataBytesMax)
    return invalid_argument("data has {} bytes; at most {} are allowed", size, kDataBytesMax);
  auto& last = rounds[request.allocation_id];
  const bool again = last != nullptr && last->data.contains(request.request_uuid);
  if (last == nullptr || (last->full() && !again))
    last = std::make_shared<Round>(Round{{}, request.num_peers});
  if (request.num_peers != last->peers)
    return invalid_argument(
        "numPeers is {}, but the other peers of this round expect {}; all must give the same number",
        request.num_peers, last->peers);
  if (!again) last->data[request.request_uuid] = std::move(request.data);
  return last;
}

asio::awaitable<Result<PeersReply>> gather(Services& s, std::shared_ptr<Rounds> rounds, Context context,
                                           PeerRequest request) {
  const auto deadline = std::chrono::steady_clock::now() + kAllMax;
  const auto id = request.allocation_id;
  if (const auto allowed = require_allocation(s, context.principal, id); !allowed)
    co_return tl::unexpected(allowed.error());
  std::erase_if(*rounds,
                [&](const auto& item) { return s.ledger.cluster().allocation(item.first) == nullptr; });
  DET_CO_TRY(const auto round, join(*rounds, std::move(request)));
  s.ledger.ring(Ledger::allocation_key(id));
  while (!round->full()) {
    if (until(deadline).count() == 0)
      co_return fail(ErrorCode::Unavailable, "{} of {} processes of allocation {} have called; retry",
                     round->data.size(), round->peers, id);
    co_await s.ledger.wait(Ledger::allocation_key(id), until(deadline));
    if (const auto allowed = require_allocation(s, context.principal, id); !allowed)
      co_return tl::unexpected(allowed.error());
  }
  PeersReply reply;
  for (const auto& [_, data] : round->data) reply.data.push_back(data);
  co_return reply;
}

/// The allocation's own processes, or a user, whose right to change it was checked before.
Result<void> require_preemptible(Services& s, const std::any& principal, const std::string& named) {
  if (!require_user(principal)) return require_allocation(s, principal, named);
  if (s.ledger.cluster().allocation(named) == nullptr)
    return fail(ErrorCode::Gone, "allocation {} is over", named);
  return {};
}

/// Whether this is the token of that allocation, and it has ended, be it while the call waits.
bool is_over(Services& s, const std::any& principal, const std::string& allocation) {
  const auto* task = std::get_if<TaskPrincipal>(&std::any_cast<const Principal&>(principal));
  return task != nullptr && task->allocation_id == allocation &&
         s.ledger.cluster().allocation(allocation) == nullptr;
}

/// A generic task that asks is told when to give way; one that never does is sent a signal.
asio::awaitable<void> note_heeding(Services& s, std::any principal, std::string id) {
  const auto* allocation = s.ledger.cluster().allocation(id);
  if (allocation == nullptr || allocation->heeds_preemption || allocation->of_trial()) co_return;
  const auto* task = s.ledger.cluster().task(allocation->record.task_id);
  if (task == nullptr || !task->can_yield() || !require_allocation(s, principal, id)) co_return;
  cluster::Event event = cluster::PreemptionHeeded{id};
  auto by = principal_name(principal);
  co_await s.ledger.handle(std::move(event), std::move(by));
}

asio::awaitable<Result<PreemptionReply>> preemption(Services& s, Context context, PreemptionQuery query) {
  const auto deadline = deadline_after(query.timeout_seconds);
  co_await note_heeding(s, context.principal, query.allocation_id);
  while (true) {
    if (!query.strict && is_over(s, context.principal, query.allocation_id))
      co_return PreemptionReply{.preempt = true};
    if (const auto allowed = require_preemptible(s, context.principal, query.allocation_id); !allowed)
      co_return tl::unexpected(allowed.error());
    const auto* allocation = s.ledger.cluster().allocation(query.allocation_id);
    if (allocation->preempt || allocation->kill || until(deadline).count() == 0) {
      PreemptionReply reply{allocation->preempt || allocation->kill, allocation->preemptions};
      co_await s.ledger.durable();
      co_return reply;
    }
    co_await s.ledger.wait(Ledger::allocation_key(query.allocation_id), until(deadline));
  }
}

const char* name_of(cluster::Wish wish) {
  switch (wish) {
    case cluster::Wish::Wait: return "WAIT";
    case cluster::Wish::GoOn: return "GO_ON";
    case cluster::Wish::Leave: break;
  }
  return "LEAVE";
}

asio::awaitable<Result<WishReply>> wish(Services& s, Context context, WishQuery query) {
  const auto deadline = deadline_after(query.timeout_seconds);
  while (true) {
    if (const auto allowed = require_allocation(s, context.principal, query.allocation_id); !allowed)
      co_return tl::unexpected(allowed.error());
    const auto* allocation = s.ledger.cluster().allocation(query.allocation_id);
    const auto wanted = cluster::wish_of(*allocation, query.preemption);
    if (wanted != cluster::Wish::Wait || until(deadline).count() == 0) {
      WishReply reply{name_of(wanted)};
      co_await s.ledger.durable();
      co_return reply;
    }
    co_await s.ledger.wait(Ledger::allocation_key(query.allocation_id), until(deadline));
  }
}

}  // namespace

Result<void> require_allocation(Services& s, const std::any& principal, const std::string& named) {
  DET_TRY(const auto id, require_task(principal));
  if (id != named)
    return fail(ErrorCode::PermissionDenied, "allocation {} cannot report for allocation {}", id, named);
  if (s.ledger.cluster().allocation(id) == nullptr) return fail(ErrorCode::Gone, "allocation {} is over", id);
  return {};
}

asio::awaitable<Result<Empty>> heard(Services& s, Context context, cluster::Event event) {
  auto by = principal_name(context.principal);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  co_return Empty{};
}

void add_allocation_routes(http::Router& router, Services& s) {
  const std::string tag = "Trial processes";
  const std::vector<ErrorCode> over = {ErrorCode::Gone};
  const auto taken = [&s](Context c, auto said) -> asio::awaitable<Result<Empty>> {
    if (const auto allowed = require_allocation(s, c.principal, said.allocation_id); !allowed)
      co_return tl::unexpected(allowed.error());
    co_return Empty{};
  };
  router.add<DevicesRequest, Empty>(
      Verb::Post, "/api/v1/allocations/{allocationId}/acceleratorData", taken,
      Doc{.summary = "Report the devices of a process; the cluster relies on those that the agent reports",
          .tag = tag,
          .errors = over});
  for (const auto* word : {"ready", "waiting"})
    router.add<SaidQuery, Empty>(
        Verb::Post, fmt::format("/api/v1/allocations/{{allocationId}}/{}", word), taken,
        Doc{.summary = fmt::format("Report that a process is {}; a task becomes ready when its service "
                                   "answers, or, if it has none, when it starts",
                                   word),
            .tag = tag,
            .errors = over});
  router.add<ProxyAddressRequest, Empty>(
      Verb::Post, "/api/v1/allocations/{allocationId}/proxy_address", taken,
      Doc{.summary = "Report the address of a process; the cluster relies on its agents' addresses",
          .tag = tag,
          .errors = over});
  router.add<DaemonRequest, Empty>(
      Verb::Post, "/api/v1/allocations/{allocationId}/resources/{resourcesId}/daemon", taken,
      Doc{.summary = "Report that a process waits for others; an allocation ends when its first rank does",
          .tag = tag,
          .errors = over});
  router.add<SaidQuery, Empty>(
      Verb::Post, "/api/v1/allocations/{allocationId}/signals/pending_preemption",
      [&s](Context c, SaidQuery r) -> asio::awaitable<Result<Empty>> {
        if (const auto allowed = require_allocation(s, c.principal, r.allocation_id); !allowed)
          co_return tl::unexpected(allowed.error());
        cluster::Event what = cluster::PreemptionRequested{r.allocation_id};
        co_return co_await heard(s, std::move(c), std::move(what));
      },
      Doc{.summary = "Preempt the caller's allocation, because its machine is about to go",
          .tag = tag,
          .errors = over});
  for (const auto* word : {"all_gather", "notify_container_running"}) {
    const auto rounds = std::make_shared<Rounds>();
    router.add<PeerRequest, PeersReply>(
        Verb::Post, fmt::format("/api/v1/allocations/{{allocationId}}/{}", word),
        [&s, rounds](Context c, PeerRequest r) { return gather(s, rounds, std::move(c), std::move(r)); },
        Doc{.summary = "Exchange data between the processes of an allocation; waits until all have called",
            .tag = tag,
            .errors = {ErrorCode::Gone, ErrorCode::Unavailable}});
  }
  router.add<PreemptionQuery, PreemptionReply>(
      Verb::Get, "/api/v1/allocations/{allocationId}/signals/preemption",
      [&s](Context c, PreemptionQuery q) { return preemption(s, std::move(c), std::move(q)); },
      Doc{.summary = "Wait for the request to preempt an allocation", .tag = tag, .errors = over});
  router.add<WishQuery, WishReply>(
      Verb::Get, "/api/v1/allocations/{allocationId}/signals/wish",
      [&s](Context c, WishQuery q) { return wish(s, std::move(c), std::move(q)); },
      Doc{.summary = "Get what a preempted process that can wait must do: WAIT (call again), GO_ON or LEAVE",
          .tag = tag,
          .errors = over});
  router.add<AcknowledgeRequest, Empty>(
      Verb::Post, "/api/v1/allocations/{allocationId}/signals/ack_preemption",
      [&s](Context c, AcknowledgeRequest r) -> asio::awaitable<Result<Empty>> {
        if (const auto allowed = require_preemptible(s, c.principal, r.allocation_id); !allowed)
          co_return tl::unexpected(allowed.error());
        cluster::PreemptionAcknowledged event{r.allocation_id, r.can_wait.value_or(false),
                                              r.preemption.value_or(0)};
        cluster::Event what = event;
        co_return co_await heard(s, std::move(c), std::move(what));
      },
      Doc{.summary = "Acknowledge a preemption", .tag = tag, .errors = over});
}

}  // namespace det::master
