#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "det/config/experiment_config.h"
#include "det/config/report.h"

namespace det::config {

/// What the rules look at: a document with defaults whose single values may
/// still be wrong. Rules pass over those; check_layer has reported them.
struct Subject {
  const json::object& document;
  const json::object& merged;  ///< The same before defaults: what people wrote.
  Generation generation;
  const Circumstances& circumstances;
  std::vector<Source> sources;  ///< what `merged` is made from
  std::vector<Path> refused;    ///< of `sources`: see Layer::refused
  Report& report;
  std::vector<std::string>& warnings;

  /// The value there is no more than a stand-in, and compares with nothing.
  bool is_refused(const Path& path) const;

  const json::value* find(std::initializer_list<std::string_view> path) const;
  const json::object* section(std::initializer_list<std::string_view> path) const;
  std::optional<std::int64_t> integer(std::initializer_list<std::string_view> path) const;
  std::string_view text(std::initializer_list<std::string_view> path) const;
};

/// The fields against one another, section by section.
void check_rules(const Subject& subject);
void check_searcher(const Subject& subject);
void check_hyperparameters(const Subject& subject);
/// Of `when`: a hyperparameter may exist only for some values of others.
void check_conditions(const Subject& subject, const json::object& hyperparameters);
void check_storage(const Subject& subject);
void check_data_layer(const Subject& subject);
void check_environment(const Subject& subject);
/// Of `slots_per_trial: {min: 2, max: 8}`.
void check_slot_range(const Subject& subject);
/// The same against `global_batch_size`, whose smallest value is `smallest`; `fixed`: it has no other.
void check_batch_of_range(const Subject& subject, std::int64_t smallest, bool fixed);

/// A sentence for each of the bind_mounts that would be seen under another name: nothing runs in a container.
std::vector<std::string> mount_warnings(const json::object& merged);

/// So many steps of `scheduling_unit` batches, in batches; nothing, and reported, where 64 bits cannot count
/// them.
std::optional<std::int64_t> check_steps(const Subject& subject, const Path& path, std::int64_t steps);

enum class EntrypointKind { Absent, TrialClass, Command };
/// "module.submodule:ClassName" is a trial class, with parts of either left out or added as in ":Class" and
/// "module:Outer.Class", and so is the launch layer of Horovod with one; anything else is a command.
EntrypointKind entrypoint_kind(const json::value* entrypoint);

/// How many steps a grid takes through this hyperparameter; 0 where `count` is missing.
std::int64_t grid_points(const json::object& hyperparameter);

const json::value* find_member(const json::object& object, std::string_view key);  ///< Null is absent.

}  // namespace det::config
