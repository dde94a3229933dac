#include "det/store/import/import.h"

#include <algorithm>
#include <chrono>

#include "det/store/import/importer.h"

namespace det::store {

// Without users, workspaces, projects, experiments and metrics nothing can be imported. The rest may be of a
// release that nobody has seen: better without it than not at all.
void Importer::run() {
  users();
  attempt("groups", &Importer::groups);
  workspaces();
  projects();
  attempt("role assignments", &Importer::roles);
  attempt("pins", &Importer::pins);
  attempt("templates", &Importer::templates);
  attempt("config policies", &Importer::policies);
  attempt("webhooks", &Importer::webhooks);
  experiments();
  target_.flush();
  metrics_of_trials();
  attempt("checkpoints", &Importer::checkpoints);
  attempt("models", &Importer::models);
  attempt("model versions", &Importer::model_versions);
  attempt("log lines", &Importer::task_logs);
  attempt("log lines", &Importer::trial_logs);
  attempt("other tasks", &Importer::sources_left_out);
  target_.flush();
}

void Importer::attempt(std::string_view what, void (Importer::*step)()) {
  const auto unreadable = source_.attempt([&] { (this->*step)(); });
  if (!unreadable.empty()) target_.left_out(what, fmt::format("all, or the rest: {}", unreadable), "");
}

Result<ImportReport> import_determined(const ImportOptions& options) {
  const auto begun = std::chrono::steady_clock::now();
  DET_TRY(const auto source, SourceDatabase::open(options.from));
  DET_TRY(const auto target, ImportTarget::open(options));
  if (auto fine = target->accept(source->cluster_id()); !fine) return tl::unexpected(std::move(fine).error());
  try {
    Importer importer(*source, *target);
    importer.run();
    target->analyze();
    ImportReport report{.from = source->shown(),
                        .cluster_id = source->cluster_id(),
                        .schema_version = source->schema_version(),
                        .counts = {},
                        .left_out = {},
                        .changed = {}};
    target->tell(report);
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    if (importer.metric_seconds() > 0)
      report.metrics_per_second = static_cast<double>(importer.metrics()) / importer.metric_seconds();
    return report;
  } catch (const SqlError& error) {
    return fail(ErrorCode::Unavailable,
                "the import was interrupted: {}; repeat the command, and it continues where it stopped",
                error.what());
  }
}

std::string to_text(const ImportReport& report) {
  auto text = fmt::format("{:<24} {:>12} {:>12} {:>12}\n", "", "imported", "unchanged", "left out");
  for (const auto& count : report.counts)
    text += fmt::format("{:<24} {:>12} {:>12} {:>12}\n", count.what, count.imported, count.unchanged,
                        count.left_out);
  const auto add = [&](const char* title, const std::vector<ImportNote>& notes) {
    if (notes.empty()) return;
    text += fmt::format("\n{}:\n", title);
    for (const auto& note : notes) {
      text += fmt::format("  {} {}: {}", note.count, note.what, note.why);
      if (!note.examples.empty())
        text += fmt::format(" ({}{})", fmt::join(note.examples, ", "),
                            note.count > static_cast<std::int64_t>(note.examples.size()) ? ", …" : "");
      text += '\n';
    }
  };
  add("Left out", report.left_out);
  add("Changed", report.changed);
  text += fmt::format("\nImported {} in {:.1f} s", report.from, report.seconds);
  if (report.metrics_per_second > 0)
    text += fmt::format(" ({:.0f} metrics a second)", report.metrics_per_second);
  return text + ".\n";
}

}  // namespace det::store
