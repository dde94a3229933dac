#pragma once

#include <string>
#include <vector>

#include "det/base/json.h"

namespace det::cli {

/// The configuration that a user submits: its text as written, and what it says.
struct ExperimentDocument {
  std::string text;
  json::object document;
};

/// Reads the file (empty: there is none), which must be a YAML map, and sets `--config` overrides
/// ("searcher.max_trials=4", commas make lists). Without overrides the text
/// stays byte for byte as the user wrote it, so that line numbers in errors fit.
Result<ExperimentDocument> read_experiment_document(const std::string& path,
                                                    const std::vector<std::string>& overrides);

/// The configuration of a test run: one batch of one trial, then a validation,
/// and no checkpoint kept. `resolved` is the master's complete form of the same
/// configuration, for what a template may have brought.
std::string test_mode_text(const ExperimentDocument& document, const json::value& resolved);

}  // namespace det::cli
