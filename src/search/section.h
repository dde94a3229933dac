#pragma once

#include "det/config/experiment_config.h"

namespace det::search {

/// The searcher's section without what is null, for a struct of the fields that one method reads.
template <typename Section>
Result<Section> read_section(const config::ExperimentConfig& config) {
  json::object said;
  for (const auto& [name, value] : config.searcher.fields)
    if (!value.is_null()) said[name] = value;
  return json::from_json<Section>(said);
}

/// The number of `{batches: 100}`, or of 100; none if it is neither.
inline std::optional<std::int64_t> length_count(const json::value& length) {
  const auto* object = length.if_object();
  return json::to_int64(object != nullptr && object->size() == 1 ? object->begin()->value() : length);
}

}  // namespace det::search
