#pragma once

#include "det/base/json.h"
#include "det/cli/output/console.h"
#include "det/cli/output/table.h"

namespace CLI {
class App;
}

namespace det::cli {

/// How a result is shown: as a table unless a flag says otherwise.
struct OutputForm {
  bool csv = false;
  bool json = false;
  bool yaml = false;
};

/// Adds --json, --csv and --yaml, which exclude each other.
void add_output_flags(CLI::App& app, OutputForm& form);
/// The same without --csv, for things that are no table.
void add_document_flags(CLI::App& app, OutputForm& form);

/// Shows a table, or the API's own objects that it was made from.
void show(Console& console, const OutputForm& form, const json::value& objects, const Table& table);
/// Shows a document: YAML unless the form says JSON.
void show_document(Console& console, const OutputForm& form, const json::value& document);
void show_json(Console& console, const json::value& v);

}  // namespace det::cli
