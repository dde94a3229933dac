#include "det/searcher/runner.h"

#include <unistd.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

#include "det/base/text.h"
#include "det/cli/context/context.h"
#include "det/cli/output/format.h"
#include "det/cli/session/session.h"
#include "det/searcher/events.h"
#include "det/searcher/state_file.h"

namespace det::searcher {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

cli::Variables variables_of_process() {
  cli::Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (const auto at = text.find('='); at != std::string::npos)
      variables.emplace(text.substr(0, at), text.substr(at + 1));
  }
  return variables;
}

cli::Globals globals_of(const RunnerOptions& options, const cli::Variables& variables) {
  cli::Globals globals{.master = options.master, .user = std::nullopt};
  if (!options.user.empty()) globals.user = options.user;
  if (globals.master.empty()) globals.master = cli::master_address(variables);
  return globals;
}

cli::Streams silent_streams() {
  return {.out = std::cout, .err = std::cerr, .read_line = [](bool) { return std::nullopt; }};
}

Result<std::string> read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return not_found("cannot read the configuration {}", path.string());
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

struct SearchRunner::Parts {
  Parts(SearchMethod& given, RunnerOptions wanted)
      : method(given),
        options(std::move(wanted)),
        console(silent_streams()),
        session(console, variables_of_process(), globals_of(options, variables_of_process())) {}

  Result<std::int64_t> submit(const fs::path& config, const fs::path& model_directory,
                              const std::vector<std::string>& includes);
  Result<std::int64_t> find_marked();
  Result<void> activate();
  Result<void> drive();
  Result<void> take(const std::vector<Event>& events);
  Result<void> say();
  Result<bool> is_stopping();
  Result<void> save();

  /// Calls again while no master answers: it may be starting again.
  template <typename Call>
  auto patiently(Call call) -> decltype(call()) {
    const auto limit = Clock::now() + options.patience;
    while (true) {
      auto done = call();
      if (done || done.error().code() != ErrorCode::Unavailable || Clock::now() > limit) return done;
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
  }

  std::string path() const { return fmt::format("/api/v1/experiments/{}", *state().experiment_id); }
  SearchState& state() { return saved.searcher_state; }
  const SearchState& state() const { return saved.searcher_state; }

  SearchMethod& method;
  RunnerOptions options;
  cli::Console console;
  cli::Session session;
  std::optional<StateFile> file;
  Saved saved;
  bool maybe_sent = false;  ///< Whether the pending answer may have reached the master before.
};

SearchRunner::SearchRunner(SearchMethod& method, RunnerOptions options)
    : parts_(std::make_unique<Parts>(method, std::move(options))) {}
SearchRunner::~SearchRunner() = default;

const SearchState& SearchRunner::state() const {
  return parts_->state();
}

Result<std::int64_t> SearchRunner::run(const fs::path& config, const fs::path& model_directory,
                                       const std::vector<std::string>& includes) {
  auto& p = *parts_;
  DET_TRY(auto file, StateFile::open(p.options.directory));
  p.file.emplace(std::move(file));
  DET_TRY(auto found, p.file->read());
  if (found) {
    p.saved = *std::move(found);
    p.maybe_sent = true;
  } else {
    p.saved = {.mark = "# searched by runner " + new_request_id(),
               .searcher_state = {},
               .pending = {},
               .method = {}};
    DET_TRY(const auto nothing, p.session.get("/api/v1/me"));  // who cannot log in leaves no state behind
    if (const auto kept = p.file->write(p.saved); !kept) return tl::unexpected(kept.error());
  }
  if (!p.state().experiment_id) {
    DET_TRY(p.state().experiment_id, p.submit(config, model_directory, includes));
    if (const auto kept = p.save(); !kept) return tl::unexpected(kept.error());
  } else if (!p.saved.method.is_null()) {
    p.method.load(p.saved.method);
  }
  if (p.state().last_event_id == 0)
    if (const auto begun = p.activate(); !begun) return tl::unexpected(begun.error());
  const auto driven = p.drive();
  p.file.reset();
  if (!driven) return tl::unexpected(driven.error());
  return *p.state().experiment_id;
}

/// The experiment of the mark, submitted where there is none: paused, so that nothing happens unremembered.
Result<std::int64_t> SearchRunner::Parts::submit(const fs::path& config, const fs::path& model_directory,
                                                 const std::vector<std::string>& includes) {
  DET_TRY(const auto found, patiently([&] { return find_marked(); }));
  if (found != 0) return found;
  DET_TRY(const auto text, read_text(config));
  DET_TRY(auto context, cli::pack_context(model_directory, includes));
  for (const auto& sentence : context.skipped) console.warn(sentence);
  const json::object body{{"config", text + "\n" + saved.mark + "\n"},
                          {"modelDefinition", cli::context_json(std::move(context))},
                          {"activate", false}};
  DET_TRY(const auto answer, session.post("/api/v1/experiments", body));
  return cli::integer_at(answer, "experiment.id");
}

/// 0: there is none.
Result<std::int64_t> SearchRunner::Parts::find_marked() {
  DET_TRY(const auto listed,
          session.pages("/api/v1/experiments", {{"states", "STATE_PAUSED"}}, "experiments"));
  for (const auto& item : listed) {
    const auto id = cli::integer_at(item, "id");
    DET_TRY(const auto whole, session.get(fmt::format("/api/v1/experiments/{}", id)));
    if (cli::text_at(whole, "experiment.originalConfig").ends_with("\n" + saved.mark + "\n")) return id;
  }
  return 0;
}

Result<void> SearchRunner::Parts::activate() {
  const auto done = patiently([&] { return session.post(path() + "/activate"); });
  if (done) return {};
  const auto stopping = is_stopping();
  if (stopping && *stopping) return {};
  return tl::unexpected(done.error());
}

Result<void> SearchRunner::Parts::drive() {
  while (!state().completed) {
    DET_TRY(const auto answer,
            patiently([&] { return session.get(path() + "/searcher_events", {{"timeoutSeconds", "30"}}); }));
    DET_TRY(const auto events, read_events(answer));
    if (events.empty()) continue;
    if (auto taken = take(events); !taken) return taken;
  }
  return {};
}

/// Answers all events of the queue at once; those that were answered before, with what was said then.
Result<void> SearchRunner::Parts::take(const std::vector<Event>& events) {
  if (const auto over = events.back().ended(); !over.empty()) {
    state().completed = true;
    state().failed = over == "ERROR";
    return save();
  }
  if (events.front().id > state().last_event_id) {
    json::array answer;
    bool of_trial = false;
    for (const auto& event : events) {
      DET_TRY(const auto operations, tell(method, state(), event));
      for (const auto& operation : operations) answer.emplace_back(to_json(operation));
      of_trial = of_trial || !event.trial().empty();
    }
    if (of_trial) answer.emplace_back(progress_json(method.progress(state())));
    saved.pending = std::move(answer);
    state().last_event_id = events.back().id;
    maybe_sent = false;
    if (auto kept = save(); !kept) return kept;
  }
  return say();
}

Result<void> SearchRunner::Parts::say() {
  const json::object body{{"searcherOperations", saved.pending},
                          {"triggeredByEvent", {{"id", state().last_event_id}}}};
  const auto done = patiently([&] {
    auto sent = session.post(path() + "/searcher_operations", body);
    if (!sent && sent.error().code() == ErrorCode::Unavailable) maybe_sent = true;
    return sent;
  });
  if (done) return {};
  if (done.error().code() == ErrorCode::NotFound) {
    if (maybe_sent) return {};  // it arrived before: only the master's answer was lost
    return failed_precondition(
        "another search runner handled event {} of experiment {}; run only one search method per experiment "
        "at "
        "a time",
        state().last_event_id, *state().experiment_id);
  }
  const auto stopping = is_stopping();
  if (stopping && *stopping) return {};
  return tl::unexpected(done.error());
}

Result<bool> SearchRunner::Parts::is_stopping() {
  DET_TRY(const auto answer, patiently([&] { return session.get(path()); }));
  const auto text = cli::text_at(answer, "experiment.state");
  const Event shown{.id = 0, .kind = "experimentInactive", .body = {{"experimentState", text}}};
  return !shown.ended().empty() || text.starts_with("STATE_STOPPING");
}

Result<void> SearchRunner::Parts::save() {
  saved.method = method.save();
  return file->write(saved);
}

}  // namespace det::searcher
