#include "det/master/models/registry.h"

#include <algorithm>
#include <limits>

#include "det/base/text.h"

namespace det::master {
namespace {

constexpr const char* kNextId = "next_model_id";
constexpr std::size_t kNameBytesMax = 256;

}  // namespace

Registry::Registry(store::Store& store) {
  for (auto& model : store.models()) {
    by_name_[model.name] = model.id;
    next_id_ = std::max(next_id_, model.id.value() + 1);
    const auto id = model.id;
    models_.emplace(id, std::move(model));
  }
  for (auto& version : store.model_versions()) {
    const std::pair key(version.model, version.version);
    by_checkpoint_.emplace(version.checkpoint, key);
    versions_.emplace(key, std::move(version));
  }
  // Ids are not given again, even when the newest model was deleted before a restart.
  if (const auto kept = store.setting(kNextId))
    next_id_ = std::max(next_id_, json::to_int64(json::value(*kept)).value_or(1));
}

const ModelRecord* Registry::find(const std::string& identifier) const {
  if (const auto named = by_name_.find(identifier); named != by_name_.end())
    return &models_.at(named->second);
  const auto number = json::to_int64(json::value(identifier));
  const auto found = number ? models_.find(ModelId(*number)) : models_.end();
  return found == models_.end() ? nullptr : &found->second;
}

std::vector<ModelVersionRecord> Registry::versions(ModelId model) const {
  std::vector<ModelVersionRecord> found;
  for (auto at = versions_.lower_bound({model, 0}); at != versions_.end() && at->first.first == model; ++at)
    found.push_back(at->second);
  return found;
}

const ModelVersionRecord* Registry::version(ModelId model, std::int64_t number) const {
  const auto found = versions_.find({model, number});
  return found == versions_.end() ? nullptr : &found->second;
}

std::int64_t Registry::version_count(ModelId model) const {
  const auto begin = versions_.lower_bound({model, 0});
  return std::distance(begin, versions_.lower_bound({model, std::numeric_limits<std::int64_t>::max()}));
}

std::size_t Registry::count_in(store::WorkspaceId workspace) const {
  return static_cast<std::size_t>(std::count_if(models_.begin(), models_.end(), [&](const auto& entry) {
    return entry.second.workspace == workspace;
  }));
}

std::optional<std::string> Registry::use_of(const std::string& checkpoint) const {
  const auto found = by_checkpoint_.find(checkpoint);
  if (found == by_checkpoint_.end()) return std::nullopt;
  const auto& [model, number] = found->second;
  return fmt::format("version {} of model '{}'", number, models_.at(model).name);
}

std::vector<std::string> Registry::checkpoints() const {
  std::vector<std::string> uuids;
  for (const auto& [uuid, version] : by_checkpoint_) uuids.push_back(uuid);
  return uuids;
}

Result<void> Registry::check_name(const ModelRecord& record) const {
  if (record.name.empty() || trim(record.name) != record.name || record.name.size() > kNameBytesMax)
    return invalid_argument(
        "name is '{}'; the name of a model must have 1 to {} bytes and not begin or end with a space",
        record.name, kNameBytesMax);
  if (std::ranges::all_of(record.name, [](char c) { return c >= '0' && c <= '9'; }))
    return invalid_argument(
        "name is '{}'; the name of a model cannot be a number, which would be read as an id", record.name);
  const auto named = by_name_.find(record.name);
  if (named != by_name_.end() && named->second != record.id)
    return fail(ErrorCode::AlreadyExists, "model '{}' already exists; choose another name", record.name);
  return {};
}

Result<Registry::Changes> Registry::create(ModelRecord record) {
  record.id = ModelId(next_id_);
  if (auto good = check_name(record); !good) return tl::unexpected(std::move(good).error());
  ++next_id_;
  by_name_[record.name] = record.id;
  models_[record.id] = record;
  Changes changes;
  changes.push_back(store::PutModel{std::move(record)});
  changes.push_back(store::PutSetting{kNextId, std::to_string(next_id_)});
  return changes;
}

Result<Registry::Changes> Registry::change(ModelRecord record) {
  if (auto good = check_name(record); !good) return tl::unexpected(std::move(good).error());
  auto& known = models_.at(record.id);
  by_name_.erase(known.name);
  by_name_[record.name] = record.id;
  known = record;
  Changes changes;
  changes.push_back(store::PutModel{std::move(record)});
  return changes;
}

void Registry::forget_use(const ModelVersionRecord& version) {
  const std::pair key(version.model, version.version);
  const auto [begin, end] = by_checkpoint_.equal_range(version.checkpoint);
  for (auto at = begin; at != end; ++at) {
    if (at->second != key) continue;
    by_checkpoint_.erase(at);
    return;
  }
}

Registry::Changes Registry::remove(ModelId model) {
  for (const auto& version : versions(model)) {
    forget_use(version);
    versions_.erase({model, version.version});
  }
  by_name_.erase(models_.at(model).name);
  models_.erase(model);
  Changes changes;
  changes.push_back(store::DeleteModel{model});
  return changes;
}

Result<Registry::Changes> Registry::add_version(ModelVersionRecord& record) {
  auto& model = models_.at(record.model);
  if (model.archived)
    return failed_precondition("model '{}' is archived; unarchive it before you add a version", model.name);
  record.version = ++model.last_version;
  model.last_updated_time = record.creation_time;
  const std::pair key(record.model, record.version);
  versions_[key] = record;
  by_checkpoint_.emplace(record.checkpoint, key);
  Changes changes;
  changes.push_back(store::PutModel{model});
  changes.push_back(store::PutModelVersion{record});
  return changes;
}

Registry::Changes Registry::change_version(ModelVersionRecord record) {
  versions_.at({record.model, record.version}) = record;
  Changes changes;
  changes.push_back(store::PutModelVersion{std::move(record)});
  return changes;
}

Registry::Changes Registry::remove_version(ModelId model, std::int64_t number, Time now) {
  forget_use(versions_.at({model, number}));
  versions_.erase({model, number});
  auto& record = models_.at(model);
  record.last_updated_time = now;
  Changes changes;
  changes.push_back(store::PutModel{record});
  changes.push_back(store::DeleteModelVersion{model, number});
  return changes;
}

}  // namespace det::master
