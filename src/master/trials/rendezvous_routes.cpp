// How the ranks of one allocation find each other: docs/reference/protocols.md §2.

#include <algorithm>

#include "det/master/trials/allocations.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

constexpr std::chrono::minutes kGatheringMax{10};
constexpr std::chrono::milliseconds kLook{500};
constexpr std::size_t kAddressesMax = 64;
constexpr std::size_t kAddressBytesMax = 256;

struct Published {
  std::string allocation_id;
  std::vector<std::string> addresses;
  static bool required(std::string_view name) { return name == "addresses"; }
};
BOOST_DESCRIBE_STRUCT(Published, (), (allocation_id, addresses))
struct Query {
  std::string allocation_id;
  double timeout_seconds = 0;
};
BOOST_DESCRIBE_STRUCT(Query, (), (allocation_id, timeout_seconds))
struct Answer {
  std::vector<std::string> addresses;
};
BOOST_DESCRIBE_STRUCT(Answer, (), (addresses))

struct ResourcesQuery {
  std::string allocation_id, resources_id;
};
BOOST_DESCRIBE_STRUCT(ResourcesQuery, (), (allocation_id, resources_id))
struct RendezvousInfo {
  std::vector<std::string> addresses;
  std::int32_t rank = 0;
  std::vector<std::int32_t> slots;
};
BOOST_DESCRIBE_STRUCT(RendezvousInfo, (), (addresses, rank, slots))
struct RendezvousReply {
  RendezvousInfo rendezvous_info;
};
BOOST_DESCRIBE_STRUCT(RendezvousReply, (), (rendezvous_info))

/// What chiefs published, by allocation. Not remembered over a restart: a chief says it again and
/// again until all of its ranks have come.
using Known = std::map<std::string, std::vector<std::string>>;

Result<Empty> publish(Services& s, Known& known, const Context& context, Published said) {
  if (auto allowed = require_allocation(s, context.principal, said.allocation_id); !allowed)
    return tl::unexpected(allowed.error());
  if (said.addresses.empty() || said.addresses.size() > kAddressesMax)
    return invalid_argument("addresses has {} entries; it must have from 1 to {}", said.addresses.size(),
                            kAddressesMax);
  for (const auto& address : said.addresses)
    if (address.empty() || address.size() > kAddressBytesMax)
      return invalid_argument("an entry of addresses has {} bytes; it must have from 1 to {}", address.size(),
                              kAddressBytesMax);
  std::erase_if(known,
                [&](const auto& item) { return s.ledger.cluster().allocation(item.first) == nullptr; });
  known[said.allocation_id] = std::move(said.addresses);
  s.ledger.ring(Ledger::allocation_key(said.allocation_id));
  return Empty{};
}

asio::awaitable<Result<Answer>> find(Services& s, const Known& known, Context context, Query query) {
  const auto deadline = deadline_after(query.timeout_seconds);
  while (true) {
    const auto allowed = require_allocation(s, context.principal, query.allocation_id);
    if (!allowed) co_return tl::unexpected(allowed.error());
    const auto found = known.find(query.allocation_id);
    if (found != known.end()) co_return Answer{found->second};
    if (until(deadline).count() == 0) co_return Answer{};
    co_await s.ledger.wait(Ledger::allocation_key(query.allocation_id), until(deadline));
  }
}

/// The agents of an allocation in the order of their ranks; nothing while one of them has not started its
/// share.
std::optional<RendezvousInfo> machines_of(Services& s, const cluster::Allocation& allocation) {
  RendezvousInfo info;
  for (const auto& share : allocation.record.shares) {
    const auto address = s.agent_addresses.find(share.agent);
    if (!allocation.agents_running.contains(share.agent) || address == s.agent_addresses.end()) return {};
    info.addresses.push_back(address->second);
    info.slots.push_back(std::max(1, static_cast<std::int32_t>(share.slots.size())));
  }
  return info;
}

asio::awaitable<Result<RendezvousReply>> machines(Services& s, Context context, ResourcesQuery query) {
  const auto deadline = std::chrono::steady_clock::now() + kGatheringMax;
  const auto prefix = query.allocation_id + ".";
  const auto text =
      query.resources_id.starts_with(prefix) ? query.resources_id.substr(prefix.size()) : std::string();
  while (true) {
    const auto allowed = require_allocation(s, context.principal, query.allocation_id);
    if (!allowed) co_return tl::unexpected(allowed.error());
    const auto& allocation = *s.ledger.cluster().allocation(query.allocation_id);
    std::size_t number = 0;
    while (number < allocation.record.shares.size() && std::to_string(number) != text) ++number;
    if (number == allocation.record.shares.size())
      co_return not_found("allocation {} has no resources '{}'", query.allocation_id, query.resources_id);
    if (auto info = machines_of(s, allocation)) {
      info->rank = static_cast<std::int32_t>(number);
      co_await s.ledger.durable();
      co_return RendezvousReply{*std::move(info)};
    }
    if (until(deadline).count() == 0)
      co_return fail(ErrorCode::Unavailable, "not all agents of allocation {} have started their processes",
                     query.allocation_id);
    co_await s.ledger.wait(Ledger::allocation_key(query.allocation_id), std::min(kLook, until(deadline)));
  }
}

}  // namespace

void add_rendezvous_routes(http::Router& router, Services& s) {
  const std::string tag = "Trial processes";
  const auto known = std::make_shared<Known>();
  router.add<Published, Empty>(
      Verb::Post, "/api/v1/allocations/{allocationId}/rendezvous",
      [&s, known](Context c, Published said) -> asio::awaitable<Result<Empty>> {
        co_return publish(s, *known, c, std::move(said));
      },
      Doc{.summary = "Publish the addresses of rank 0", .tag = tag, .errors = {ErrorCode::Gone}});
  router.add<Query, Answer>(
      Verb::Get, "/api/v1/allocations/{allocationId}/rendezvous",
      [&s, known](Context c, Query q) { return find(s, *known, std::move(c), std::move(q)); },
      Doc{.summary = "Wait for the addresses of rank 0", .tag = tag, .errors = {ErrorCode::Gone}});
  router.add<ResourcesQuery, RendezvousReply>(
      Verb::Get, "/api/v1/allocations/{allocationId}/resources/{resourcesId}/rendezvous",
      [&s](Context c, ResourcesQuery q) { return machines(s, std::move(c), std::move(q)); },
      Doc{.summary = "Wait until all machines of the allocation have started, and list them",
          .tag = tag,
          .errors = {ErrorCode::Gone, ErrorCode::NotFound}});
}

}  // namespace det::master
