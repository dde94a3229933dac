#include "det/cli/output/output.h"

#include <CLI/CLI.hpp>

#include "det/config/yaml/yaml.h"

namespace det::cli {

void add_document_flags(CLI::App& app, OutputForm& form) {
  auto* json = app.add_flag("--json", form.json, "Print the API objects as JSON");
  app.add_flag("--yaml", form.yaml, "Print the API objects as YAML")->excludes(json);
}

void add_output_flags(CLI::App& app, OutputForm& form) {
  add_document_flags(app, form);
  app.add_flag("--csv", form.csv, "Print the table as CSV")->excludes("--json")->excludes("--yaml");
}

void show_json(Console& console, const json::value& v) {
  console.write_line(json::pretty(v, 2));
}

void show(Console& console, const OutputForm& form, const json::value& objects, const Table& table) {
  if (form.json)
    show_json(console, objects);
  else if (form.yaml)
    console.write(config::emit_yaml(objects));
  else
    console.write(form.csv ? table.csv() : table.text());
}

void show_document(Console& console, const OutputForm& form, const json::value& document) {
  if (form.json)
    show_json(console, document);
  else
    console.write(config::emit_yaml(document));
}

}  // namespace det::cli
