#include "det/pytorch/loop/loop.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "det/pytorch/engine/process.h"
#include "det/pytorch/program/output.h"
#include "det/trial/memory.h"
#include "det/version.h"

namespace det::pytorch {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kWait{5};
constexpr std::chrono::seconds kPause{30};

json::object to_json(const Numbers& numbers) {
  json::object object;
  for (const auto& [name, value] : numbers) object[name] = json::from_double(value);
  return object;
}

json::array rows_of(const Trained& trained) {
  json::array rows;
  rows.reserve(trained.batches.size());
  for (const auto& values : trained.batches) {
    json::object row;
    for (std::size_t i = 0; i < values.size(); ++i) row[trained.names[i]] = json::from_double(values[i]);
    rows.emplace_back(std::move(row));
  }
  return rows;
}

/// Whether `left` beats `right`. Equal values do not beat each other.
bool better(std::optional<double> left, double right, bool smaller_is_better) {
  if (!left || std::isnan(*left)) return false;
  return smaller_is_better ? *left < right : *left > right;
}

/// What a trial does while a checkpoint is on its way. All other actions need it to be stored.
bool goes_on_while_saving(const trial::Action& action) {
  return std::holds_alternative<trial::Train>(action) || std::holds_alternative<trial::Validate>(action);
}

}  // namespace

Loop::Loop(Parts parts)
    : p_(std::move(parts)),
      config_(must(trial::loop_config(p_.job.config,
                                      p_.job.environment.hparams.get<std::int64_t>("global_batch_size")))),
      saver_(p_.master, p_.storage, p_.log) {}

void Loop::start() {
  const auto loop = start_engine(p_.job, p_.engine, p_.storage);
  if (!loop) return;
  state_ = {.batches_trained = loop->batches_trained,
            .batches_validated = loop->batches_validated,
            .batches_checkpointed = loop->batches_checkpointed,
            .operations_done = loop->operations_done,
            .best = loop->best,
            .validation_is_best = loop->validation_is_best};
  state_ = must(trial::LoopState::from_json(state_.to_json()));  // checks that it adds up
  searcher_metric_ = loop->searcher_metric;
  p_.log(fmt::format("going on after batch {}", state_.batches_trained));
  if (const auto slots = p_.job.environment.size; loop->slots != slots)
    print_warning(
        fmt::format("the checkpoint was saved on {} slots, and the trial resumes on {}{}", loop->slots, slots,
                    slots > loop->slots
                        ? ": new slots start with the random number generators and callbacks of the first one"
                        : ""));
}

void Loop::run() {
  try {
    while (step()) {
    }
  } catch (...) {
    saver_.finish();
    throw;
  }
}

trial::Action Loop::next() {
  const trial::Wishes wishes{.lengths = lengths_,
                             .closed = closed_,
                             .preempt = must(p_.master.preempt_requested()),
                             .stop_requested = p_.engine.stop_requested()};
  return trial::next_action(config_, state_, wishes);
}

void Loop::settle(bool wait) {
  const auto uuid = saver_.settled(wait);
  if (!uuid) return;
  tell({.kind = Order::Kind::Stored, .uuid = *uuid});
  p_.engine.stored(*uuid);
}

bool Loop::step() {
  const auto action = next();
  settle(!goes_on_while_saving(action));
  if (const auto* chunk = std::get_if<trial::Train>(&action))
    train(chunk->batches);
  else if (std::holds_alternative<trial::Validate>(action))
    validate();
  else if (const auto* checkpoint = std::get_if<trial::Checkpoint>(&action))
    save(checkpoint->reason);
  else if (const auto* operation = std::get_if<trial::CompleteOperation>(&action))
    complete(operation->length);
  else if (std::holds_alternative<trial::Wait>(action))
    wait();
  else
    return exit(std::get<trial::Exit>(action).preempted);
  return true;
}

void Loop::train(std::int64_t batches) {
  report_state("training");
  tell({.kind = Order::Kind::Train, .batches = batches});
  const auto trained = p_.engine.train(batches);
  p_.engine.ask_all_ranks();
  state_.train(batches);
  must(p_.master.report_training(state_.batches_trained, to_json(trained.averages), rows_of(trained),
                                 p_.engine.records()));
  if (!lengths_.empty() && lengths_.back() > 0)
    must(p_.master.report_progress(
        std::min(1.0, static_cast<double>(state_.batches_trained) / static_cast<double>(lengths_.back()))));
}

void Loop::validate() {
  report_state("validating");
  tell({.kind = Order::Kind::Validate});
  const auto metrics = p_.engine.validate();
  p_.engine.ask_all_ranks();
  const auto& name = p_.job.config.searcher.metric;
  const auto found = std::ranges::find(metrics, name, &Numbers::value_type::first);
  if (found == metrics.end()) {
    std::string known;
    for (const auto& [metric, value] : metrics) known += (known.empty() ? "" : ", ") + metric;
    throw UsageError(fmt::format("searcher.metric is \"{}\", but the validation returned: {}", name,
                                 known.empty() ? "none" : known));
  }
  const double value = found->second;
  const auto best = must(p_.master.best_validation());
  must(p_.master.report_validation(state_.batches_trained, to_json(metrics), p_.engine.records()));
  const bool smaller = config_.smaller_is_better;
  searcher_metric_ = value;
  state_.batches_validated = state_.batches_trained;
  state_.validation_is_best = !std::isnan(value) && !better(best, value, smaller);
  if (!std::isnan(value) && !better(state_.best, value, smaller)) state_.best = value;
}

SavedLoop Loop::saved() const {
  return {.batches_trained = state_.batches_trained,
          .batches_validated = state_.batches_validated,
          .batches_checkpointed = state_.batches_checkpointed,
          .operations_done = state_.operations_done,
          .best = state_.best,
          .validation_is_best = state_.validation_is_best,
          .searcher_metric = searcher_metric_};
}

void Loop::save(trial::CheckpointReason reason) {
  report_state("checkpointing");
  state_.checkpoint();
  const auto uuid = checkpoint::new_uuid();
  tell({.kind = Order::Kind::Checkpoint, .uuid = uuid});
  json::object reported;
  reported["steps_completed"] = state_.batches_trained;
  reported["framework"] = std::string("torch-") + torch_version();
  reported["format"] = "pickle";
  reported["determined_version"] = DET_VERSION;
  PendingCheckpoint pending{.uuid = uuid,
                            .batches = state_.batches_trained,
                            .reason = name_of(reason),
                            .metadata = reported,
                            .description = described(reported)};
  p_.engine.collect(saved());
  const bool in_background = p_.engine.saves_in_background() && goes_on_while_saving(next());
  if (in_background) {
    if (auto write = p_.engine.staged(trial::available_memory())) {
      saver_.save_in_background(std::move(pending), [this, write](const fs::path& directory) {
        write(directory);
        describe(directory);
      });
      return;
    }
    p_.log(
        "training waits until the checkpoint is written: there is too little memory for a copy of its state");
  }
  saver_.save(std::move(pending), [this](const fs::path& directory) {
    p_.engine.write(directory, [&] { describe(directory); });
  });
  settle(true);
}

void Loop::describe(const fs::path& directory) const {
  json::object load;
  load["trial_type"] = "PyTorchTrial";
  load["language"] = "c++";
  load["trial_cls_spec"] = p_.job.config.entrypoint;
  load["experiment_config"] = p_.job.config.document;
  load["hparams"] = *json::parse(p_.job.environment.hparams.json());
  write_line(directory / "load_data.json", json::pretty(load, 2));
  p_.source.write(directory / "code");
}

json::object Loop::described(json::object reported) const {
  json::object text;
  text["experiment_id"] = p_.job.environment.experiment_id;
  text["trial_id"] = p_.job.environment.trial_id;
  text["hparams"] = *json::parse(p_.job.environment.hparams.json());
  text["experiment_config"] = p_.job.config.document;
  for (const auto& [name, value] : reported) text[name] = value;
  text["metadata"] = json::object();
  return text;
}

void Loop::complete(std::int64_t length) {
  if (!searcher_metric_ || std::isnan(*searcher_metric_))
    throw UsageError(fmt::format("validation metric \"{}\" is {} after batch {}; it must be a number",
                                 p_.job.config.searcher.metric, searcher_metric_ ? "NaN" : "missing",
                                 state_.batches_trained));
  must(p_.master.complete_operation(length, *searcher_metric_));
  state_.complete_operation();
}

void Loop::wait() {
  if (!lengths_.empty()) report_state("waiting");
  auto operations = must(p_.master.operations(static_cast<std::int64_t>(lengths_.size()), kWait));
  lengths_ = std::move(operations.lengths);
  closed_ = operations.closed;
  tell({.kind = Order::Kind::Wait});
}

/// Gives way, with everything saved, and waits here for as long as the master wants. True: the trial goes on.
bool Loop::waited_to_go_on() {
  using Wish = trial::Client::Wish;
  p_.log(fmt::format("paused after batch {}", state_.batches_trained));
  must(p_.master.acknowledge_preemption());
  auto wish = Wish::Wait;
  while ((wish = must(p_.master.wish(kPause))) == Wish::Wait) {
    report_state("waiting");
    tell({.kind = Order::Kind::Wait});
  }
  if (wish == Wish::GoOn)
    p_.log(fmt::format("going on after batch {}, in the same process", state_.batches_trained));
  return wish == Wish::GoOn;
}

bool Loop::exit(bool preempted) {
  must(p_.master.flush());
  if (preempted && waited_to_go_on()) return true;
  tell({.kind = Order::Kind::Exit});
  if (preempted) return false;
  if (p_.engine.stop_requested()) {
    must(p_.master.report_early_exit("EXITED_REASON_USER_REQUESTED_STOP"));
  } else {
    p_.log(fmt::format("finished after batch {}", state_.batches_trained));
  }
  return false;
}

void Loop::tell(const Order& order) {
  if (p_.ranks != nullptr) p_.ranks->announce(order.text());
}

void Loop::report_state(const char* state) {
  if (reported_state_ == state) return;
  must(p_.master.report_state(state));
  reported_state_ = state;
}

}  // namespace det::pytorch
