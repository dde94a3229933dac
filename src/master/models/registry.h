#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "det/base/error.h"
#include "det/store/store.h"

namespace det::master {

using store::ModelId;
using store::ModelRecord;
using store::ModelVersionRecord;

/// The model registry, completely in memory: names for checkpoints, which are kept as long as a version names
/// them.
///
/// Every change is made here at once and returned as changes for the store; the call is answered after these
/// are durable. So two calls cannot take the same name or number.
///
/// Threads: not safe; on the master's strand.
class Registry {
 public:
  explicit Registry(store::Store& store);  ///< Reads the store.

  using Changes = std::vector<store::Change>;

  /// By name; else by id, where `identifier` is a number. Null: there is none.
  const ModelRecord* find(const std::string& identifier) const;
  const std::map<ModelId, ModelRecord>& models() const { return models_; }
  /// Ascending by number.
  std::vector<ModelVersionRecord> versions(ModelId model) const;
  const ModelVersionRecord* version(ModelId model, std::int64_t number) const;
  std::int64_t version_count(ModelId model) const;
  /// How many models are in the workspace.
  std::size_t count_in(store::WorkspaceId workspace) const;

  /// "version 2 of model 'x'" for a checkpoint that a version names.
  std::optional<std::string> use_of(const std::string& checkpoint) const;

  /// All that versions name.
  std::vector<std::string> checkpoints() const;

  /// AlreadyExists for a name that is taken, InvalidArgument for one that cannot be.
  Result<Changes> create(ModelRecord record);
  /// Replaces the model of this id; the same errors.
  Result<Changes> change(ModelRecord record);
  Changes remove(ModelId model);
  /// Gives `record` the next number. FailedPrecondition where the model is archived.
  Result<Changes> add_version(ModelVersionRecord& record);
  Changes change_version(ModelVersionRecord record);
  Changes remove_version(ModelId model, std::int64_t number, Time now);

 private:
  Result<void> check_name(const ModelRecord& record) const;
  void forget_use(const ModelVersionRecord& version);

  std::map<ModelId, ModelRecord> models_;
  std::map<std::string, ModelId> by_name_;
  std::map<std::pair<ModelId, std::int64_t>, ModelVersionRecord> versions_;
  std::multimap<std::string, std::pair<ModelId, std::int64_t>> by_checkpoint_;
  std::int64_t next_id_ = 1;
};

}  // namespace det::master
