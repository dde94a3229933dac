// What trials say of themselves through the Core API. A run is a trial here: its id is the trial's.

#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

constexpr std::size_t kBytesMax = 512 << 10;

struct TrialMetadataRequest {
  TrialId run_id;
  json::object metadata;
  static bool required(std::string_view name) { return name == "metadata"; }
};
BOOST_DESCRIBE_STRUCT(TrialMetadataRequest, (), (run_id, metadata))
struct OfRun {
  TrialId run_id;
};
BOOST_DESCRIBE_STRUCT(OfRun, (), (run_id))
struct TrialMetadataReply {
  json::object metadata;
};
BOOST_DESCRIBE_STRUCT(TrialMetadataReply, (), (metadata))

asio::awaitable<Result<TrialMetadataReply>> set(Services& s, Context context, TrialMetadataRequest request) {
  const auto who = co_await reporter(s, context.principal, request.run_id);
  if (!who) co_return tl::unexpected(who.error());
  const auto bytes = json::serialize(request.metadata).size();
  if (bytes > kBytesMax)
    co_return invalid_argument("metadata of run {} has {} bytes; at most {} are allowed", request.run_id,
                               bytes, kBytesMax);
  if (s.store.overloaded())
    co_return fail(ErrorCode::Unavailable, "the database cannot keep up with the reports; retry in a moment");
  TrialMetadataReply reply{request.metadata};
  std::vector<store::Change> changes;
  changes.push_back(store::SetTrialMetadata{request.run_id, std::move(request.metadata)});
  co_await s.ledger.write(std::move(changes));
  co_return reply;
}

asio::awaitable<Result<TrialMetadataReply>> get(Services& s, TrialId id) {
  auto read = [&s, id]() -> std::optional<json::object> {
    if (!s.store.trial(id)) return std::nullopt;
    return s.store.trial_metadata(id).value_or(json::object());
  };
  auto metadata = co_await offload(s, std::move(read));
  if (!metadata) co_return not_found("trial '{}' not found", id);
  co_return TrialMetadataReply{*std::move(metadata)};
}

}  // namespace

void add_metadata_routes(http::Router& router, Services& s) {
  router.add<TrialMetadataRequest, TrialMetadataReply>(
      Verb::Post, "/api/v1/runs/{runId}/metadata",
      [&s](Context c, TrialMetadataRequest r) { return set(s, std::move(c), std::move(r)); },
      Doc{.summary = "Replace the metadata of a trial",
          .tag = "Trial processes",
          .errors = {ErrorCode::NotFound, ErrorCode::Gone}});
  router.add<OfRun, TrialMetadataReply>(
      Verb::Get, "/api/v1/runs/{runId}/metadata", [&s](Context, OfRun q) { return get(s, q.run_id); },
      Doc{.summary = "Get the metadata of a trial", .tag = "Trials", .errors = {ErrorCode::NotFound}});
}

}  // namespace det::master
