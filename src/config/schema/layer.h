#pragma once

#include <optional>
#include <string>
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
  std::vector<std::string> warnings{};
};

/// Decodes a layer; what cannot be read is empty, not usable, and reported to `all`.
Layer read_layer(std::string_view name, std::string_view yaml, Report& all);

/// The same for a template, if there is one, without what only workloads of other kinds have, which is warned
/// about: one template may be for several kinds.
Layer read_template(std::string_view name, const std::optional<std::string>& yaml, const schema::Type& type,
                    Report& all);

/// Reports to `all` what of the layer is not as `type` says; `below` is what lies under it.
void check(const schema::Type& type, const Layer& layer, const json::value& below, Report& all);

/// Every problem of a template, part of configurations of experiments and of tasks that are no trials.
/// `master` is what lies under it.
std::vector<Error> check_template(std::string_view yaml, const json::object& master);

}  // namespace det::config
