// The versions of the models in the registry.

#include <algorithm>

#include "det/master/checkpoints/collector.h"
#include "det/master/models/model_objects.h"
#include "det/master/objects.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct Version {
  std::int32_t id = 0, version = 0;
  ModelObject model;
  api::Checkpoint checkpoint;
  std::string name, comment, notes;
  std::vector<std::string> labels;
  json::object metadata;
  Time creation_time, last_updated_time;
  UserId user_id;
  std::string username;
};
BOOST_DESCRIBE_STRUCT(Version, (),
                      (id, version, model, checkpoint, name, comment, notes, labels, metadata, creation_time,
                       last_updated_time, user_id, username))

struct VersionsQuery {
  std::string model_name, sort_by, order_by;
  std::int32_t offset = 0, limit = 0;
};
BOOST_DESCRIBE_STRUCT(VersionsQuery, (), (model_name, sort_by, order_by, offset, limit))
struct VersionsReply {
  ModelObject model;
  std::vector<Version> model_versions;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(VersionsReply, (), (model, model_versions, pagination))
struct RegisterRequest {
  std::string model_name, checkpoint_uuid, name, comment, notes;
  std::vector<std::string> labels;
  json::object metadata;
  static bool required(std::string_view name) { return name == "checkpoint_uuid"; }
};
BOOST_DESCRIBE_STRUCT(RegisterRequest, (),
                      (model_name, checkpoint_uuid, name, comment, notes, labels, metadata))
struct ByNumber {
  std::string model_name;
  std::int64_t model_version_num = 0;
};
BOOST_DESCRIBE_STRUCT(ByNumber, (), (model_name, model_version_num))
struct PatchVersionRequest {
  std::string model_name;
  std::int64_t model_version_num = 0;
  std::optional<std::string> name, comment, notes;
  std::optional<std::vector<std::string>> labels;
  std::optional<json::object> metadata;
};
BOOST_DESCRIBE_STRUCT(PatchVersionRequest, (),
                      (model_name, model_version_num, name, comment, notes, labels, metadata))
struct VersionReply {
  Version model_version;
};
BOOST_DESCRIBE_STRUCT(VersionReply, (), (model_version))

/// Without its checkpoint, which is in the store.
Version to_object(Services& s, const ModelObject& model, const ModelVersionRecord& r) {
  const auto number = static_cast<std::int32_t>(r.version);
  return {.id = number,
          .version = number,
          .model = model,
          .checkpoint = {},
          .name = r.name,
          .comment = r.comment,
          .notes = r.notes,
          .labels = r.labels,
          .metadata = r.metadata,
          .creation_time = r.creation_time,
          .last_updated_time = r.last_updated_time,
          .user_id = r.owner,
          .username = username(s, r.owner)};
}

asio::awaitable<std::vector<Version>> with_checkpoints(Services& s, const ModelRecord& model,
                                                       std::vector<ModelVersionRecord> records) {
  const auto of = to_object(s, model);
  std::vector<Version> versions;
  for (const auto& record : records) versions.push_back(to_object(s, of, record));
  auto read = [&s, versions, records]() mutable {
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (const auto found = s.store.checkpoint(records[i].checkpoint))
        versions[i].checkpoint = read_checkpoint(s.store, *found);
      else
        versions[i].checkpoint.uuid = records[i].checkpoint;
    }
    return versions;
  };
  co_return co_await offload(s, std::move(read));
}

/// Version 0 and -1 are the latest.
Result<ModelVersionRecord> find_version(Services& s, const ModelRecord& model, std::int64_t number) {
  if (number == 0 || number == -1) {
    auto all = s.registry.versions(model.id);
    if (all.empty()) return not_found("model '{}' has no version yet", model.name);
    return std::move(all.back());
  }
  const auto* found = s.registry.version(model.id, number);
  if (found == nullptr) return not_found("version {} of model '{}' not found", number, model.name);
  return *found;
}

asio::awaitable<Result<VersionsReply>> list_versions(Services& s, VersionsQuery q) {
  const auto model = find_model(s, q.model_name);
  if (!model) co_return tl::unexpected(model.error());
  auto all = s.registry.versions(model->id);
  if (q.order_by != "ORDER_BY_ASC") std::reverse(all.begin(), all.end());  // the latest first
  const auto span = page_of(all.size(), q.offset, q.limit);
  VersionsReply reply{.model = to_object(s, *model), .model_versions = {}, .pagination = span.pagination};
  std::vector<ModelVersionRecord> shown(all.begin() + static_cast<std::ptrdiff_t>(span.begin),
                                        all.begin() + static_cast<std::ptrdiff_t>(span.end));
  reply.model_versions = co_await with_checkpoints(s, *model, std::move(shown));
  co_await s.ledger.durable();
  co_return reply;
}

asio::awaitable<Result<VersionReply>> one_version(Services& s, std::string name, std::int64_t number) {
  const auto model = find_model(s, name);
  if (!model) co_return tl::unexpected(model.error());
  auto record = find_version(s, *model, number);
  if (!record) co_return tl::unexpected(record.error());
  std::vector<ModelVersionRecord> records;
  records.push_back(*std::move(record));
  auto versions = co_await with_checkpoints(s, *model, std::move(records));
  co_await s.ledger.durable();
  co_return VersionReply{std::move(versions.front())};
}

asio::awaitable<Result<VersionReply>> add_version(Services& s, Context context, RegisterRequest request) {
  const auto user = require_actor(s, context.principal);
  if (!user) co_return tl::unexpected(user.error());
  if (const auto model = find_model(s, request.model_name); !model) co_return tl::unexpected(model.error());
  const auto hold = s.collector.hold(request.checkpoint_uuid);
  auto read = [&s, uuid = request.checkpoint_uuid] { return s.store.checkpoint(uuid); };
  const auto checkpoint = co_await offload(s, std::move(read));
  if (!checkpoint) co_return not_found("checkpoint '{}' not found", request.checkpoint_uuid);
  if (!hold || checkpoint->state != experiment::CheckpointState::Completed)
    co_return failed_precondition("checkpoint {} is deleted; a model version needs a completed checkpoint",
                                  request.checkpoint_uuid);
  const auto model = find_model(s, request.model_name);  // once more: it may have gone meanwhile
  if (!model) co_return tl::unexpected(model.error());
  const auto now = s.ledger.now();
  ModelVersionRecord record{.model = model->id,
                            .version = 0,
                            .checkpoint = request.checkpoint_uuid,
                            .name = std::move(request.name),
                            .comment = std::move(request.comment),
                            .notes = std::move(request.notes),
                            .labels = std::move(request.labels),
                            .metadata = std::move(request.metadata),
                            .owner = user->id,
                            .creation_time = now,
                            .last_updated_time = now};
  auto changes = s.registry.add_version(record);
  if (!changes) co_return tl::unexpected(changes.error());
  co_await s.ledger.write(*std::move(changes));
  co_return co_await one_version(s, request.model_name, record.version);
}

asio::awaitable<Result<VersionReply>> patch_version(Services& s, Context context,
                                                    PatchVersionRequest request) {
  if (const auto user = require_actor(s, context.principal); !user) co_return tl::unexpected(user.error());
  const auto model = find_model(s, request.model_name);
  if (!model) co_return tl::unexpected(model.error());
  auto record = find_version(s, *model, request.model_version_num);
  if (!record) co_return tl::unexpected(record.error());
  if (request.name) record->name = *request.name;
  if (request.comment) record->comment = *request.comment;
  if (request.notes) record->notes = *request.notes;
  if (request.labels) record->labels = *request.labels;
  if (request.metadata) record->metadata = *request.metadata;
  record->last_updated_time = s.ledger.now();
  const auto number = record->version;
  auto changes = s.registry.change_version(*std::move(record));
  co_await s.ledger.write(std::move(changes));
  co_return co_await one_version(s, request.model_name, number);
}

asio::awaitable<Result<Empty>> remove_version(Services& s, Context context, ByNumber which) {
  const auto user = require_actor(s, context.principal);
  if (!user) co_return tl::unexpected(user.error());
  const auto model = find_model(s, which.model_name);
  if (!model) co_return tl::unexpected(model.error());
  const auto record = find_version(s, *model, which.model_version_num);
  if (!record) co_return tl::unexpected(record.error());
  auto changes = s.registry.remove_version(model->id, record->version, s.ledger.now());
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

}  // namespace

void add_model_version_routes(http::Router& router, Services& s) {
  const std::string tag = "Models";
  const std::vector<ErrorCode> missing = {ErrorCode::NotFound};
  const std::string path = "/api/v1/models/{modelName}/versions";
  router.add<VersionsQuery, VersionsReply>(
      Verb::Get, path, [&s](Context, VersionsQuery q) { return list_versions(s, std::move(q)); },
      Doc{.summary = "List the versions of a model, the latest first", .tag = tag, .errors = missing});
  router.add<RegisterRequest, VersionReply>(
      Verb::Post, path,
      [&s](Context c, RegisterRequest r) { return add_version(s, std::move(c), std::move(r)); },
      Doc{.summary =
              "Register a completed checkpoint as the next version of a model; the checkpoint is then kept",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
  const auto one = path + "/{modelVersionNum}";
  router.add<ByNumber, VersionReply>(
      Verb::Get, one, [&s](Context, ByNumber q) { return one_version(s, q.model_name, q.model_version_num); },
      Doc{.summary = "Get a version of a model; 0 and -1 mean the latest", .tag = tag, .errors = missing});
  router.add<PatchVersionRequest, VersionReply>(
      Verb::Patch, one,
      [&s](Context c, PatchVersionRequest r) { return patch_version(s, std::move(c), std::move(r)); },
      Doc{.summary = "Change the name, comment, notes, labels or metadata of a model version",
          .tag = tag,
          .errors = missing});
  router.add<ByNumber, Empty>(
      Verb::Delete, one,
      [&s](Context c, ByNumber q) { return remove_version(s, std::move(c), std::move(q)); },
      Doc{.summary = "Delete a model version; its checkpoint is no longer protected from deletion",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::PermissionDenied}});
}

}  // namespace det::master
