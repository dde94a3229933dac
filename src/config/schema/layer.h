#pragma once

#include <string_view>
#include <vector>

#include "det/config/report.h"
#include "det/config/schema/schema.h"

namespace det::config {

/// One of the documents that a configuration is made from, as written.
struct Layer {
  std::string_view name;  ///< "<config>", "<template>" or "<master>"
  Document document;
  bool usable = true;
  std::vector<Path> refused{};  ///< What was written there could not be taken: the document has a stand-in.
};

/// Decodes a layer; what cannot be read is empty, not usable, and reported to `all`.
Layer read_layer(std::string_view name, std::string_view yaml, Report& all);

/// Reports to `all` what of the layer is not as `type` says; `below` is what lies under it.
void check(const schema::Type& type, const Layer& layer, const json::value& below, Report& all);

/// Every problem of a template, part of a configuration; none where it is one of an experiment or of any task
/// that is no trial. `master` is what lies under it.
std::vector<Error> check_template(std::string_view yaml, const json::object& master);

}  // namespace det::config
