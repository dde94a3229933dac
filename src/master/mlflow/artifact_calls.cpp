// Files of runs and of logged models: each is a checkpoint of its own in the storage of the experiment.

#include <algorithm>
#include <set>

#include "det/base/text.h"
#include "det/http/routing/status.h"
#include "det/master/mlflow/call.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master::mlflow {
namespace {

using enum access::Permission;
using http::Verb;
using Artifacts = std::map<std::string, Artifact>;

/// Whose files a path names, "7/RUN/artifacts/…" or "7/models/MODEL/artifacts/…", and which.
struct Holder {
  ExperimentId experiment;
  Run* run = nullptr;
  ModelDoc* model = nullptr;
  std::string path;  ///< below the artifacts; empty: all

  Artifacts& artifacts() const { return run != nullptr ? run->doc.artifacts : model->artifacts; }
};

Result<Holder> holder_of(Book& book, const std::string& path) {
  auto parts = split(path, '/');
  while (!parts.empty() && parts.back().empty()) parts.pop_back();
  for (const auto& part : parts)
    if (part.empty() || part == "." || part == "..")
      return invalid_argument("the path '{}' is invalid; its parts must be names", path);
  const bool of_model = parts.size() > 1 && parts[1] == "models";
  const std::size_t at = of_model ? 3 : 2;  // of "artifacts"
  if (parts.size() <= at || parts[at] != "artifacts")
    return not_found("no artifacts at '{}'; a path is EXPERIMENT/RUN/artifacts/…", path);
  Holder holder;
  if (of_model) {
    holder.model = book.model(parts[2]);
    if (holder.model == nullptr) return not_found("Logged model with ID '{}' not found", parts[2]);
    holder.experiment = ExperimentId(holder.model->experiment);
  } else {
    holder.run = book.run(parts[1]);
    if (holder.run == nullptr) return not_found("Run with id={} not found", parts[1]);
    holder.experiment = holder.run->experiment;
  }
  for (auto i = at + 1; i < parts.size(); ++i) holder.path += (i == at + 1 ? "" : "/") + parts[i];
  return holder;
}

asio::awaitable<Result<Holder>> allowed_holder(Services& s, Book& book, const std::any& principal,
                                               std::string path, access::Permission permission) {
  DET_CO_TRY(auto holder, holder_of(book, path));
  json::value id = holder.experiment.value();
  const auto allowed = co_await may(s, principal, permission, Kind::Experiment, std::move(id));
  if (!allowed) co_return tl::unexpected(allowed.error());
  co_return holder;
}

std::string name_in(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

asio::awaitable<void> save_holder(Book& book, const Holder& holder) {
  if (holder.run != nullptr)
    co_await book.save(*holder.run);
  else
    co_await book.save(*holder.model);
}

/// The row of a file of a run, so that the pages list it with the trial's checkpoints.
asio::awaitable<Result<void>> note_checkpoint(Services& s, const Holder& holder, const Artifact& artifact) {
  if (holder.run == nullptr) co_return Result<void>{};
  experiment::CheckpointRecord record{.uuid = artifact.uuid};
  record.resources = {{name_in(holder.path), artifact.bytes}};
  record.metadata = {{"steps_completed", 0}, {"artifact", holder.path}};
  record.report_time = s.ledger.now();
  co_return co_await s.unmanaged.checkpoint(holder.run->trial, std::move(record));
}

asio::awaitable<void> note_deleted(Services& s, std::string uuid) {
  auto read = [&s, uuid] { return s.store.checkpoint(uuid); };
  auto record = co_await offload(s, std::move(read));
  if (!record) co_return;
  record->state = experiment::CheckpointState::Deleted;
  std::vector<store::Change> changes;
  changes.push_back(store::PutCheckpoint{*std::move(record)});
  co_await s.ledger.write(std::move(changes));
}

asio::awaitable<Result<http::Response>> upload(Services& s, Book& book, http::Request request,
                                               std::any principal) {
  const auto held =
      co_await allowed_holder(s, book, principal, request.parameters.at("path"), UpdateExperiment);
  if (!held) co_return tl::unexpected(held.error());
  if (held->path.empty()) co_return invalid_argument("the path names no file; add its name");
  auto& artifacts = held->artifacts();
  const auto known = artifacts.find(held->path);
  const auto before = known == artifacts.end() ? std::nullopt : std::optional(known->second);
  const auto made =
      co_await book.store_file(held->experiment, name_in(held->path), std::move(request.body), before);
  if (!made) co_return tl::unexpected(made.error());
  const auto noted = co_await note_checkpoint(s, *held, *made);
  if (!noted) co_return tl::unexpected(noted.error());
  if (before) co_await note_deleted(s, before->uuid);
  artifacts[held->path] = *made;
  co_await save_holder(book, *held);
  co_return http::json_response("{}");
}

asio::awaitable<Result<http::Response>> download_artifact(Services& s, Book& book, http::Request request,
                                                          std::any principal) {
  const auto held =
      co_await allowed_holder(s, book, principal, request.parameters.at("path"), ViewExperimentArtifacts);
  if (!held) co_return tl::unexpected(held.error());
  const auto found = held->artifacts().find(held->path);
  if (found == held->artifacts().end()) co_return not_found("No such artifact: '{}'", held->path);
  auto content = co_await book.read_file(held->experiment, found->second.uuid, name_in(held->path));
  if (!content) co_return tl::unexpected(content.error());
  http::Response response{.status = 200, .body = *std::move(content)};
  response.headers.set("Content-Type", "application/octet-stream");
  response.headers.set("Content-Disposition", "attachment");
  response.headers.set("X-Content-Type-Options", "nosniff");
  co_return response;
}

asio::awaitable<Result<http::Response>> remove_artifacts(Services& s, Book& book, http::Request request,
                                                         std::any principal) {
  const auto held =
      co_await allowed_holder(s, book, principal, request.parameters.at("path"), UpdateExperiment);
  if (!held) co_return tl::unexpected(held.error());
  std::vector<std::pair<std::string, std::string>> chosen;  // by path: what clients upload meanwhile stays
  for (const auto& [path, artifact] : held->artifacts())
    if (held->path.empty() || path == held->path || path.starts_with(held->path + "/"))
      chosen.emplace_back(path, artifact.uuid);
  for (const auto& [path, uuid] : chosen) {
    const auto gone = co_await book.delete_file(held->experiment, uuid);
    if (!gone) co_return tl::unexpected(gone.error());
    co_await note_deleted(s, uuid);
    held->artifacts().erase(path);
  }
  co_await save_holder(book, *held);
  co_return http::json_response("{}");
}

/// What is directly below a directory. With `whole`, by the path from the top; else by its name.
json::array files_below(const Artifacts& artifacts, const std::string& directory, bool whole) {
  const auto prefix = directory.empty() ? "" : directory + "/";
  json::array files;
  std::set<std::string> seen;
  for (const auto& [path, artifact] : artifacts) {
    if (!path.starts_with(prefix)) continue;
    const auto rest = path.substr(prefix.size());
    const auto slash = rest.find('/');
    const auto name = rest.substr(0, slash);
    if (!seen.insert(name).second) continue;
    json::object file{{"path", whole ? prefix + name : name}, {"is_dir", slash != std::string::npos}};
    if (slash == std::string::npos) file["file_size"] = artifact.bytes;
    files.push_back(std::move(file));
  }
  return files;
}

asio::awaitable<Result<http::Response>> list_proxied(Services& s, Book& book, http::Request request,
                                                     std::any principal) {
  const auto* path = request.query.find("path");
  const auto held =
      co_await allowed_holder(s, book, principal, path == nullptr ? "" : *path, ViewExperimentArtifacts);
  if (!held) co_return tl::unexpected(held.error());
  const json::object reply{{"files", files_below(held->artifacts(), held->path, false)}};
  co_return http::json_response(json::serialize(reply));
}

asio::awaitable<Result<json::object>> list_artifacts(Call call) {
  const auto run = co_await run_of(call, ViewExperimentArtifacts);
  if (!run) co_return tl::unexpected(run.error());
  co_return json::object{{"root_uri", info_of(**run).at("artifact_uri")},
                         {"files", files_below((*run)->doc.artifacts, call.text("path"), true)}};
}

using Proxied = asio::awaitable<Result<http::Response>> (*)(Services&, Book&, http::Request, std::any);

asio::awaitable<http::Response> answer_proxied(Proxied handler, Services& s, Book& book,
                                               http::Request request, std::any principal) {
  if (const auto user = require_user(principal); !user) co_return refusal(user.error());
  auto done = co_await handler(s, book, std::move(request), std::move(principal));
  if (!done) co_return refusal(done.error());
  co_return *std::move(done);
}

}  // namespace

void add_artifact_calls(http::Router& router, Services& s, const std::shared_ptr<Book>& book) {
  add_call(router, s, book, Verb::Get, "artifacts/list", list_artifacts);
  const std::string root = "/api/2.0/mlflow-artifacts/artifacts";
  const auto add = [&](Verb verb, const std::string& path, Proxied handler) {
    router.add_closed_raw(verb, path, [&s, book, handler](http::Request request, std::any principal) {
      return answer_proxied(handler, s, *book, std::move(request), std::move(principal));
    });
  };
  add(Verb::Get, root, list_proxied);
  add(Verb::Get, root + "/{path...}", download_artifact);
  add(Verb::Put, root + "/{path...}", upload);
  add(Verb::Delete, root + "/{path...}", remove_artifacts);
}

}  // namespace det::master::mlflow
