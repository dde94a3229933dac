#pragma once

#include "det/base/json.h"
#include "det/config/schema/schema.h"

namespace det::config {

/// `higher` over `lower`, both documents of `type`: null is absent, maps merge
/// key by key, unions only with the same tag (their common fields always), and
/// anything else is replaced, unless the field names a rule of its own.
json::value merge(const schema::Type& type, const json::value& higher, const json::value& lower);

/// Rules of single fields.
json::value merge_labels(const json::value& higher, const json::value& lower);
/// Concatenated; an entry of `lower` with the container_path of a higher one is dropped.
json::value merge_by_container_path(const json::value& higher, const json::value& lower);
json::value merge_by_proxy_port(const json::value& higher, const json::value& lower);
/// Lower entries first, so that higher ones win where a name is set twice.
json::value merge_environment_variables(const json::value& higher, const json::value& lower);
json::value merge_image(const json::value& higher, const json::value& lower);
/// By name, those without one by action and pattern.
json::value merge_log_policies(const json::value& higher, const json::value& lower);
/// A hyperparameter is replaced whole, but maps of hyperparameters merge.
json::value merge_hyperparameters(const json::value& higher, const json::value& lower);
/// Maps recursively, lists of things with a name by that name.
json::value merge_pod_spec(const json::value& higher, const json::value& lower);
/// Maps recursively, whatever they hold.
json::value merge_maps(const json::value& higher, const json::value& lower);

}  // namespace det::config
