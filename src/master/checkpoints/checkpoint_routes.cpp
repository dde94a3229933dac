// Checkpoints as users see them.

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "det/base/utf8_names.h"
#include "det/checkpoint/files.h"
#include "det/checkpoint/storage.h"
#include "det/master/checkpoints/collector.h"
#include "det/master/checkpoints/storage_id.h"
#include "det/master/lists/list_order.h"
#include "det/master/objects.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using experiment::CheckpointRecord;
using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct OfExperiment {
  ExperimentId id;
  std::vector<std::string> states;
  std::string sort_by_attr, sort_by_metric, order_by;
  std::int32_t offset = 0, limit = 0;
};
BOOST_DESCRIBE_STRUCT(OfExperiment, (), (id, states, sort_by_attr, sort_by_metric, order_by, offset, limit))
struct OfTrial {
  TrialId id;
  std::vector<std::string> states;
  std::string sort_by_attr, sort_by_metric, order_by;
  std::int32_t offset = 0, limit = 0;
};
BOOST_DESCRIBE_STRUCT(OfTrial, (), (id, states, sort_by_attr, sort_by_metric, order_by, offset, limit))
struct CheckpointsReply {
  std::vector<api::Checkpoint> checkpoints;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(CheckpointsReply, (), (checkpoints, pagination))
struct ByUuid {
  std::string uuid;
};
BOOST_DESCRIBE_STRUCT(ByUuid, (), (uuid))
struct CheckpointReply {
  api::Checkpoint checkpoint;
};
BOOST_DESCRIBE_STRUCT(CheckpointReply, (), (checkpoint))
struct DeleteRequest {
  std::vector<std::string> checkpoint_uuids;
  static bool required(std::string_view name) { return name == "checkpoint_uuids"; }
};
BOOST_DESCRIBE_STRUCT(DeleteRequest, (), (checkpoint_uuids))
struct CheckpointDeleteReply {
  std::optional<Time> undo_until;  ///< until then POST /api/v1/checkpoints/undelete takes it back
};
BOOST_DESCRIBE_STRUCT(CheckpointDeleteReply, (), (undo_until))
struct Described {
  json::object metadata;
  static bool required(std::string_view name) { return name == "metadata"; }
};
BOOST_DESCRIBE_STRUCT(Described, (), (metadata))
struct CheckpointMetadataRequest {
  std::string uuid;
  Described checkpoint;
  static bool required(std::string_view name) { return name == "checkpoint"; }
};
BOOST_DESCRIBE_STRUCT(CheckpointMetadataRequest, (), (uuid, checkpoint))

template <class In>
Result<CheckpointsReply> page(store::Store& store, std::vector<CheckpointRecord> records, const In& in) {
  if (const auto known = check_order(in.sort_by_attr, in.order_by); !known)
    return tl::unexpected(known.error());
  static constexpr std::array kStates = {"STATE_UNSPECIFIED", "STATE_ACTIVE",  "STATE_COMPLETED",
                                         "STATE_ERROR",       "STATE_DELETED", "STATE_PARTIALLY_DELETED"};
  std::vector<std::string> states;
  for (const auto& name : in.states) {
    const bool is_number = name.size() == 1 && name[0] >= '0' && name[0] < '6';  // of old clients
    states.push_back(is_number ? kStates[static_cast<std::size_t>(name[0] - '0')] : name);
    if (std::find(kStates.begin(), kStates.end(), states.back()) == kStates.end())
      return invalid_argument("'{}' is not a state of a checkpoint; use a name such as STATE_COMPLETED",
                              name);
    if (states.back() == kStates.front()) states.pop_back();
  }
  std::vector<api::Checkpoint> all;
  for (const auto& record : records) {
    const auto state = state_name(record.state);
    if (states.empty() || std::find(states.begin(), states.end(), state) != states.end())
      all.push_back(read_checkpoint(store, record));
  }
  const auto batches = [](const api::Checkpoint& c) {
    return json::to_int64(c.metadata.at("steps_completed")).value_or(0);
  };
  const auto metric = [&](const api::Checkpoint& c) {
    if (!in.sort_by_metric.empty() && c.training.validation_metrics) {
      const auto* value = c.training.validation_metrics->avg_metrics.if_contains(in.sort_by_metric);
      if (const auto number = value == nullptr ? std::nullopt : json::to_double(*value)) return *number;
    } else if (in.sort_by_metric.empty() && c.training.searcher_metric) {
      return *c.training.searcher_metric;
    }
    return std::numeric_limits<double>::infinity();  // those without go last
  };
  const bool by_metric = !in.sort_by_metric.empty() || in.sort_by_attr == "SORT_BY_SEARCHER_METRIC";
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    if (by_metric) return metric(a) < metric(b);
    if (in.sort_by_attr == "SORT_BY_UUID") return a.uuid < b.uuid;
    if (in.sort_by_attr == "SORT_BY_BATCH_NUMBER") return batches(a) < batches(b);
    if (in.sort_by_attr == "SORT_BY_TRIAL_ID") return a.training.trial_id < b.training.trial_id;
    return a.report_time < b.report_time;
  });
  if (is_descending(in.order_by)) {
    const auto last = std::find_if(all.begin(), all.end(),
                                   [&](const auto& c) { return by_metric && std::isinf(metric(c)); });
    std::reverse(all.begin(), last);
  }
  const auto span = page_of(all.size(), in.offset, in.limit);
  CheckpointsReply reply{.checkpoints = {}, .pagination = span.pagination};
  for (auto i = span.begin; i < span.end; ++i) reply.checkpoints.push_back(std::move(all[i]));
  return reply;
}

la_ssize_t append(archive*, void* client, const void* buffer, std::size_t length) {
  static_cast<std::string*>(client)->append(static_cast<const char*>(buffer), length);
  return static_cast<la_ssize_t>(length);
}

/// The head of an entry; a directory has -1 bytes.
void write_head(archive* out, const std::string& name, la_int64_t bytes) {
  const Utf8Names names_are_utf8;
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                       archive_entry_free);
  archive_entry_set_pathname_utf8(entry.get(), name.c_str());
  archive_entry_set_filetype(entry.get(), bytes < 0 ? AE_IFDIR : AE_IFREG);
  archive_entry_set_perm(entry.get(), bytes < 0 ? 0755 : 0644);
  if (bytes >= 0) archive_entry_set_size(entry.get(), bytes);
  archive_write_header(out, entry.get());
}

/// A file of the checkpoint itself: trials write to the storage, and a link that one of them laid there could
/// lead to whatever the master may read. Throws checkpoint::Failure.
checkpoint::Fd open_member(const std::filesystem::path& root, const std::string& name) {
  const checkpoint::Fd directory(::open(root.c_str(), O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory)
    throw checkpoint::Failure(Error(ErrorCode::FailedPrecondition, root.string() + " is not a directory"));
  return checkpoint::open_file_beneath(directory.get(), name, (root / name).string());
}

/// Whether the caller wants a zip file rather than what is sent by default, a tar.gz.
bool wants_zip(const http::Request& request) {
  const auto* accepted = request.headers.find("Accept");
  return accepted != nullptr && accepted->find("application/zip") != std::string::npos &&
         accepted->find("application/gzip") == std::string::npos;
}

/// Sends the checkpoint's files as tar.gz or zip, a few MiB of memory whatever their size.
asio::awaitable<void> stream_archive(Services& s, std::filesystem::path root, std::vector<std::string> names,
                                     bool zip, http::StreamWriter& writer) {
  std::string buffer;
  std::unique_ptr<archive, int (*)(archive*)> out(archive_write_new(), archive_write_free);
  if (zip) {
    archive_write_set_format_zip(out.get());
    archive_write_set_options(out.get(), "zip:compression-level=1");
  } else {
    archive_write_add_filter_gzip(out.get());
    archive_write_set_options(out.get(), "gzip:compression-level=1");
    archive_write_set_format_pax_restricted(out.get());
  }
  archive_write_set_bytes_in_last_block(out.get(), 1);
  archive_write_open(out.get(), &buffer, nullptr, append, nullptr);
  for (const auto& name : names) {
    const bool directory = name.ends_with('/');
    const auto file = directory ? checkpoint::Fd() : open_member(root, name);
    struct stat status{};
    if (!directory && ::fstat(file.get(), &status) != 0) co_return;
    write_head(out.get(), name, directory ? -1 : static_cast<la_int64_t>(status.st_size));
    if (directory) continue;
    std::vector<char> block(1 << 20);
    for (bool more = true; more;) {
      auto read = [&] {
        const auto got = ::read(file.get(), block.data(), block.size());
        if (got > 0) archive_write_data(out.get(), block.data(), static_cast<std::size_t>(got));
        return got > 0;
      };
      more = co_await offload(s, std::move(read));
      if (buffer.size() < (std::size_t{1} << 18)) continue;
      auto piece = std::exchange(buffer, std::string());
      const bool taken = co_await writer.write(std::move(piece));
      if (!taken) co_return;
    }
  }
  archive_write_close(out.get());
  co_await writer.write(std::move(buffer));
}

asio::awaitable<http::Response> download(Services& s, http::Request request) {
  const auto uuid = request.parameters["uuid"];
  auto read = [&s, uuid] { return s.store.checkpoint(uuid); };
  const auto record = co_await offload(s, std::move(read));
  if (!record || record->state == experiment::CheckpointState::Deleted)
    co_return http::error_response(
        Error(ErrorCode::NotFound, fmt::format("checkpoint '{}' not found", uuid)));
  auto read_2 = [&s, id = record->experiment_id] { return s.store.experiment(id); };
  const auto experiment = co_await offload(s, std::move(read_2));
  const auto config =
      experiment ? config::from_document(experiment->config)
                 : Result<config::ExperimentConfig>(not_found("experiment of checkpoint {} not found", uuid));
  if (!config) co_return http::error_response(config.error());
  auto opened = checkpoint::open_storage(config->checkpoint_storage);
  if (!opened) co_return http::error_response(opened.error());
  const std::shared_ptr<checkpoint::Storage> storage = *std::move(opened);
  auto fetch = [storage, uuid] { return checkpoint::LocalFiles::of(*storage, uuid); };
  const auto files = co_await offload(s, std::move(fetch));
  if (!files) co_return http::error_response(files.error());
  std::vector<std::string> names;
  for (const auto& [name, bytes] : record->resources) names.push_back(name);
  auto look = [&]() -> Result<void> {
    try {
      for (const auto& name : names)
        if (!name.ends_with('/')) open_member((*files)->path(), name);
      return {};
    } catch (const checkpoint::Failure& failure) {
      return tl::unexpected(failure.error);
    }
  };
  const auto whole = co_await offload(s, std::move(look));
  if (!whole) co_return http::error_response(whole.error());
  http::Response response;
  const bool zip = wants_zip(request);
  response.headers.set("Content-Type", zip ? "application/zip" : "application/gzip");
  response.headers.set("Content-Disposition",
                       fmt::format("attachment; filename=\"{}.{}\"", uuid, zip ? "zip" : "tar.gz"));
  response.stream = [&s, files = *files, names, zip](http::StreamWriter& writer) {
    return stream_archive(s, files->path(), names, zip, writer);
  };
  co_return response;
}

asio::awaitable<Result<CheckpointDeleteReply>> remove(Services& s, Context context, DeleteRequest request) {
  if (const auto user = require_actor(s, context.principal); !user) co_return tl::unexpected(user.error());
  std::vector<CheckpointRecord> chosen;
  for (const auto& uuid : request.checkpoint_uuids) {
    auto read = [&s, uuid] { return s.store.checkpoint(uuid); };
    const auto record = co_await offload(s, std::move(read));
    if (!record) co_return not_found("checkpoint '{}' not found", uuid);
    if (const auto own = may_change(s, context.principal, *record); !own)
      co_return tl::unexpected(own.error());
    if (const auto need = s.collector.need_of(uuid))
      co_return failed_precondition("checkpoint {} cannot be deleted: it is {}", uuid, *need);
    if (record->state != experiment::CheckpointState::Deleted) chosen.push_back(*record);
  }
  const auto removed = co_await s.collector.remove(std::move(chosen), Collector::Needed::Refuse);
  if (!removed) co_return tl::unexpected(removed.error());
  co_return CheckpointDeleteReply{s.collector.can_undo_until()};
}

asio::awaitable<Result<Empty>> undelete(Services& s, Context context, DeleteRequest request) {
  if (const auto user = require_actor(s, context.principal); !user) co_return tl::unexpected(user.error());
  for (const auto& uuid : request.checkpoint_uuids) {
    auto read = [&s, uuid] { return s.store.checkpoint(uuid); };
    const auto record = co_await offload(s, std::move(read));
    if (!record) co_return not_found("checkpoint '{}' not found", uuid);
    if (const auto own = may_change(s, context.principal, *record); !own)
      co_return tl::unexpected(own.error());
    if (s.collector.deletes(record->experiment_id))
      co_return failed_precondition("experiment {} is being deleted", record->experiment_id);
    const auto back = co_await s.collector.bring_back(uuid);
    if (!back) co_return tl::unexpected(back.error());
  }
  co_return Empty{};
}

/// Replaces what users say of a checkpoint; how many steps it has is not theirs to say.
asio::awaitable<Result<CheckpointReply>> set_metadata(Services& s, Context context,
                                                      CheckpointMetadataRequest request) {
  if (const auto user = require_actor(s, context.principal); !user) co_return tl::unexpected(user.error());
  auto read = [&s, uuid = request.uuid] { return s.store.checkpoint(uuid); };
  const auto record = co_await offload(s, std::move(read));
  if (!record) co_return not_found("checkpoint '{}' not found", request.uuid);
  if (const auto own = may_change(s, context.principal, *record); !own) co_return tl::unexpected(own.error());
  auto metadata = std::move(request.checkpoint.metadata);
  metadata["steps_completed"] = record->batches;
  std::vector<store::Change> changes;
  changes.push_back(store::SetCheckpointMetadata{request.uuid, std::move(metadata)});
  co_await s.ledger.write(std::move(changes));
  auto read_again = [&s, uuid = request.uuid]() -> Result<CheckpointReply> {
    const auto changed = s.store.checkpoint(uuid);
    if (!changed) return not_found("checkpoint '{}' not found", uuid);
    return CheckpointReply{read_checkpoint(s.store, *changed)};
  };
  co_return co_await offload(s, std::move(read_again));
}

}  // namespace

Result<void> may_change(Services& s, const std::any& principal, const CheckpointRecord& record) {
  const auto task = require_task(principal);
  const auto* allocation = task ? s.ledger.cluster().allocation(*task) : nullptr;
  if (allocation == nullptr || allocation->record.experiment_id == record.experiment_id) return {};
  return fail(ErrorCode::PermissionDenied, "allocation {} cannot change checkpoint {} of experiment {}",
              *task, record.uuid, record.experiment_id);
}

api::Checkpoint read_checkpoint(store::Store& store, const CheckpointRecord& r) {
  api::Checkpoint c{.task_id = r.task_id,
                    .allocation_id = r.allocation_id,
                    .uuid = r.uuid,
                    .report_time = r.report_time,
                    .resources = r.resources,
                    .metadata = r.metadata,
                    .state = state_name(r.state)};
  if (!c.metadata.contains("steps_completed")) c.metadata["steps_completed"] = r.batches;
  c.training.trial_id = r.trial_id;
  c.training.experiment_id = r.experiment_id;
  if (const auto experiment = store.experiment(r.experiment_id)) {
    c.training.experiment_config = config::masked(experiment->config);
    c.storage_id = storage_id(experiment->config);
    const auto metric = searcher_metric(experiment->config);
    for (const auto& report : store.metrics(
             {.trial = r.trial_id, .group = std::nullopt, .after_batches = r.batches - 1, .limit = 1})) {
      if (report.batches != r.batches) continue;
      api::Metrics metrics{.avg_metrics = report.avg_metrics, .batch_metrics = {}};
      if (report.group == "training") c.training.training_metrics = std::move(metrics);
      if (report.group == "validation") {
        c.training.validation_metrics = std::move(metrics);
        c.training.searcher_metric = value_of(report, metric.name);
      }
    }
  }
  if (const auto trial = store.trial(r.trial_id)) c.training.hparams = trial->hparams;
  return c;
}

void add_checkpoint_routes(http::Router& router, Services& s) {
  const std::string tag = "Checkpoints";
  const std::vector<ErrorCode> missing = {ErrorCode::NotFound};
  router.add<OfExperiment, CheckpointsReply>(
      Verb::Get, "/api/v1/experiments/{id}/checkpoints",
      [&s](Context, OfExperiment q) -> asio::awaitable<Result<CheckpointsReply>> {
        auto read = [&s, q]() -> Result<CheckpointsReply> {
          if (!s.store.experiment(q.id)) return not_found("experiment '{}' not found", q.id);
          return page(s.store, s.store.checkpoints_of_experiment(q.id), q);
        };
        co_return co_await offload(s, std::move(read));
      },
      Doc{.summary = "List the checkpoints of an experiment", .tag = tag, .errors = missing});
  router.add<OfTrial, CheckpointsReply>(
      Verb::Get, "/api/v1/trials/{id}/checkpoints",
      [&s](Context, OfTrial q) -> asio::awaitable<Result<CheckpointsReply>> {
        auto read = [&s, q]() -> Result<CheckpointsReply> {
          if (!s.store.trial(q.id)) return not_found("trial '{}' not found", q.id);
          return page(s.store, s.store.checkpoints_of_trial(q.id), q);
        };
        co_return co_await offload(s, std::move(read));
      },
      Doc{.summary = "List the checkpoints of a trial", .tag = tag, .errors = missing});
  router.add<ByUuid, CheckpointReply>(
      Verb::Get, "/api/v1/checkpoints/{uuid}",
      [&s](Context, ByUuid q) -> asio::awaitable<Result<CheckpointReply>> {
        auto read = [&s, q]() -> Result<CheckpointReply> {
          const auto record = s.store.checkpoint(q.uuid);
          if (!record) return not_found("checkpoint '{}' not found", q.uuid);
          return CheckpointReply{read_checkpoint(s.store, *record)};
        };
        co_return co_await offload(s, std::move(read));
      },
      Doc{.summary = "Get a checkpoint", .tag = tag, .errors = missing});
  router.add<DeleteRequest, CheckpointDeleteReply>(
      Verb::Delete, "/api/v1/checkpoints",
      [&s](Context c, DeleteRequest r) { return remove(s, std::move(c), std::move(r)); },
      Doc{.summary = "Delete checkpoints",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition},
          .takes_body = true});
  router.add<DeleteRequest, Empty>(
      Verb::Post, "/api/v1/checkpoints/undelete",
      [&s](Context c, DeleteRequest r) { return undelete(s, std::move(c), std::move(r)); },
      Doc{.summary = "Restore deleted checkpoints while the master still keeps their files",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
  router.add<CheckpointMetadataRequest, CheckpointReply>(
      Verb::Post, "/api/v1/checkpoints/{uuid}/metadata",
      [&s](Context c, CheckpointMetadataRequest r) { return set_metadata(s, std::move(c), std::move(r)); },
      Doc{.summary = "Replace the metadata of a checkpoint", .tag = tag, .errors = missing});
  router.add_closed_raw(Verb::Get, "/checkpoints/{uuid}",
                        [&s](http::Request r, std::any) { return download(s, std::move(r)); });
}

}  // namespace det::master
