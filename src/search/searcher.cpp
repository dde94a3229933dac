#include "det/search/searcher.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "det/search/sampling/random_state.h"

namespace det::search {

namespace {

bool trains_whole_trials(std::string_view name) {
  return name == "single" || name == "random" || name == "grid" || name == "tpe";
}

}  // namespace

Searcher::Searcher(const config::ExperimentConfig& config, std::unique_ptr<SearchMethod> method)
    : method_(std::move(method)),
      random_(config.experiment_seed),
      smaller_is_better_(config.searcher.smaller_is_better),
      hears_every_validation_(config.generation == config::Generation::Time) {}

Result<Searcher> Searcher::make(const config::ExperimentConfig& config) {
  DET_TRY(auto method, make_search_method(config));
  return Searcher(config, std::move(method));
}

Operations Searcher::start() {
  if (book_.started) return {};
  book_.started = true;
  return recorded(method_->start(random_));
}

Operations Searcher::trial_created(const RequestId& trial) {
  auto* open = book_.open.find(trial);
  if (open == nullptr || open->created) return {};
  open->created = true;
  return recorded(method_->trial_created(trial, random_));
}

Operations Searcher::validation_completed(const RequestId& trial, double metric, std::int64_t length) {
  auto* open = find_running(trial);
  if (open == nullptr || length <= open->validated) return {};
  const bool asked = !open->asked.empty() && length >= open->asked.front();
  if (!asked && !hears_every_validation_) return {};
  if (asked) open->asked.erase(open->asked.begin());
  if (open->asked.empty()) open->asked.shrink_to_fit();  // most trials wait, and a million of them may
  open->validated = length;
  if (!smaller_is_better_) metric = -metric;
  if (std::isnan(metric)) metric = std::numeric_limits<double>::infinity();
  auto operations = recorded(method_->validation_completed(trial, metric, length, random_));
  // One report may pass several rungs.
  if (auto* after = hears_every_validation_ ? find_running(trial) : nullptr)
    std::erase_if(after->asked, [&](std::int64_t each) { return each <= length; });
  return operations;
}

Operations Searcher::trial_exited_early(const RequestId& trial, ExitedReason reason) {
  auto* open = find_running(trial);
  if (open == nullptr) return {};
  open->exit = reason;
  if (reason == ExitedReason::Errored) ++book_.failures;
  if (reason == ExitedReason::UserCanceled) ++book_.cancels;
  return recorded(method_->trial_exited_early(trial, reason, random_));
}

Operations Searcher::trial_closed(const RequestId& trial) {
  if (!book_.open.erase(trial)) return {};
  ++book_.trials_closed;
  return recorded(method_->trial_closed(trial, random_));
}

const std::deque<SearchEvent>* Searcher::events() const {
  const auto* custom = method_->custom();
  return custom == nullptr ? nullptr : &custom->events();
}

void Searcher::inactive(const std::string& state) {
  if (auto* custom = method_->custom()) custom->inactive(state);
}

Result<void> Searcher::awaits(std::int64_t event_id) const {
  const auto* custom = method_->custom();
  if (custom == nullptr)
    return failed_precondition("the searcher does not take operations; only searcher.name custom does");
  return custom->find(event_id);
}

/// In order: a wish may be about a trial that one before it creates.
Result<void> Searcher::check(const std::vector<SearchWish>& wishes) const {
  using Kind = SearchWish::Kind;
  std::map<RequestId, Open> touched;  // as the wishes before leave them
  bool shutdown = book_.shutdown;
  for (const auto& wish : wishes) {
    const auto& id = wish.request_id;
    if (wish.kind == Kind::Progress) {
      if (!(wish.progress >= 0 && wish.progress <= 1))
        return invalid_argument("the progress is {}; it must be from 0 to 1", wish.progress);
      continue;
    }
    if (shutdown && wish.kind == Kind::Shutdown)
      continue;  // of two events answered at once: said once is enough
    if (shutdown) return failed_precondition("the search was shut down; it does not take more operations");
    if (const auto* known = book_.open.find(id)) touched.try_emplace(id, *known);
    if (wish.kind == Kind::Create) {
      if (!is_request_id(id))
        return invalid_argument("request ID \"{}\" is invalid; it must be a UUID in lower case", id);
      if (!touched.try_emplace(id).second)
        return invalid_argument("request ID {} was used before; each operation needs a new one", id);
    } else if (wish.kind == Kind::ValidateAfter) {
      if (wish.length < 1)
        return invalid_argument("trial {} is to validate after {} units; the length must be at least 1", id,
                                wish.length);
      const auto trial = touched.find(id);
      if (trial == touched.end() || trial->second.exit) continue;  // over: left out
      if (trial->second.closing)
        return invalid_argument("trial {} was closed by an earlier operation; it cannot be trained further",
                                id);
      if (wish.length <= trial->second.reach())
        return invalid_argument(
            "trial {} is to validate after {} units; lengths are totals and must exceed the last one, {}", id,
            wish.length, trial->second.reach());
      trial->second.asked.push_back(wish.length);
    } else if (wish.kind == Kind::Close) {
      if (const auto trial = touched.find(id); trial != touched.end()) trial->second.closing = true;
    } else {
      shutdown = true;
    }
  }
  return {};
}

Result<Operations> Searcher::answer(std::int64_t event_id, const std::vector<SearchWish>& wishes) {
  if (auto awaited = awaits(event_id); !awaited) return tl::unexpected(std::move(awaited).error());
  auto* custom = method_->custom();
  if (auto fine = check(wishes); !fine) return tl::unexpected(std::move(fine).error());
  custom->answered(event_id);
  Operations operations;
  for (const auto& wish : wishes) {
    Operations one;
    const auto* open = find_running(wish.request_id);
    switch (wish.kind) {
      case SearchWish::Kind::Create:
        one.emplace_back(Create{.request_id = wish.request_id,
                                .trial_seed = random_.below(std::int64_t{1} << 31),
                                .hparams = wish.hparams,
                                .checkpoint = wish.checkpoint});
        break;
      case SearchWish::Kind::ValidateAfter:
        if (open != nullptr)
          one.emplace_back(ValidateAfter{.request_id = wish.request_id, .length = wish.length});
        break;
      case SearchWish::Kind::Close:
        if (open != nullptr && !open->closing) one.emplace_back(Close{.request_id = wish.request_id});
        break;
      case SearchWish::Kind::Shutdown:
        if (!book_.shutdown)
          one.emplace_back(Shutdown{.cancel = wish.cancel, .failure = wish.failure, .reason = wish.reason});
        break;
      case SearchWish::Kind::Progress: custom->set_progress(wish.progress); break;
    }
    for (auto& operation : recorded(std::move(one))) operations.push_back(std::move(operation));
  }
  return operations;
}

Result<Operations> Searcher::reconfigure(const config::ExperimentConfig& config) {
  DET_TRY(auto method, make_search_method(config));
  if (auto restored = method->restore(method_->snapshot()); !restored)
    return tl::unexpected(std::move(restored).error());
  auto random = random_;
  auto operations = method->resized(random);
  if (trains_whole_trials(config.searcher.name))
    for (const auto& [id, open] : book_.open.in_order())
      if (!open->exit && open->reach() > 0 && open->reach() < config.searcher.max_length.count)
        operations.emplace_back(
            ValidateAfter{.request_id = uuid_text(id), .length = config.searcher.max_length.count});
  if (book_.shutdown && operations.empty())
    return failed_precondition("the search has ended, and these sizes add nothing to it");
  method_ = std::move(method);
  random_ = random;
  book_.shutdown = false;
  book_.progress = 0;  // of another whole
  return recorded(std::move(operations));
}

Operations Searcher::run_again(std::vector<Again>& trials) {
  auto left = trials;
  auto operations = method_->run_again(left, random_);
  std::set<RequestId> refused;
  for (const auto& trial : left) refused.insert(trial.create.request_id);
  for (const auto& trial : trials) {
    if (refused.contains(trial.create.request_id)) continue;
    --book_.trials_requested;
    --book_.trials_closed;
    book_.failures -= trial.exit == ExitedReason::Errored;
    book_.cancels -= trial.exit == ExitedReason::UserCanceled;
  }
  if (left.size() < trials.size()) {
    book_.shutdown = false;
    book_.progress = 0;  // they were done, and are not
  }
  trials = std::move(left);
  return recorded(std::move(operations));
}

void Searcher::set_trial_progress(const RequestId& trial, double units) {
  if (find_running(trial) == nullptr || !std::isfinite(units) || units < 0) return;
  method_->trial_progressed(trial, units);
  recorded({});
}

/// A trial that is open and has not exited.
Searcher::Open* Searcher::find_running(const RequestId& trial) {
  auto* open = book_.open.find(trial);
  return open == nullptr || open->exit ? nullptr : open;
}

/// Remembers what the method asks for, and ends the search when nothing is left to ask.
Operations Searcher::recorded(Operations operations) {
  for (const auto& operation : operations) {
    if (const auto* create = std::get_if<Create>(&operation)) {
      DET_ASSERT(book_.open.insert(create->request_id));
      ++book_.trials_requested;
    } else if (const auto* after = std::get_if<ValidateAfter>(&operation)) {
      book_.open.at(after->request_id).asked.push_back(after->length);
    } else if (const auto* close = std::get_if<Close>(&operation)) {
      book_.open.at(close->request_id).closing = true;
    } else {
      book_.shutdown = true;
    }
  }
  if (!book_.shutdown && method_->custom() == nullptr && book_.trials_closed == book_.trials_requested) {
    book_.shutdown = true;
    operations.emplace_back(Shutdown{.cancel = book_.cancels >= book_.trials_requested,
                                     .failure = book_.failures >= book_.trials_requested});
  }
  const double progress = method_->progress();
  // Never back, although a trial with invalid hyperparameters takes its part with it.
  if (std::isfinite(progress)) book_.progress = std::max(book_.progress, std::min(progress, 1.0));
  return operations;
}

namespace {

/// A part of a snapshot; null where there is none.
const json::value& part_of(const json::object& snapshot, const char* name) {
  static const json::value kNone;
  const auto* part = snapshot.if_contains(name);
  return part == nullptr ? kNone : *part;
}

Error in_part(Error error, const char* part) {
  return std::move(error).within(part).within("the saved state of the search");
}

}  // namespace

json::value Searcher::snapshot() const {
  return json::object{{"rand", random_to_json(random_)},
                      {"search_method_state", method_->snapshot()},
                      {"searcher", json::to_json(book_)}};
}

Result<Searcher> Searcher::restore(const config::ExperimentConfig& config, const json::value& snapshot) {
  DET_TRY(auto searcher, make(config));
  const auto* saved = snapshot.if_object();
  if (saved == nullptr)
    return tl::unexpected(in_part(json::path_error("", "expected an object"), "all of it"));
  auto random = random_from_json(part_of(*saved, "rand"));
  if (!random) return tl::unexpected(in_part(std::move(random).error(), "rand"));
  auto restored = searcher.method_->restore(part_of(*saved, "search_method_state"));
  if (!restored) return tl::unexpected(in_part(std::move(restored).error(), "search_method_state"));
  auto book = json::from_json<Bookkeeping>(part_of(*saved, "searcher"));
  if (!book) return tl::unexpected(in_part(std::move(book).error(), "searcher"));
  searcher.random_ = *std::move(random);
  searcher.book_ = *std::move(book);
  return searcher;
}

}  // namespace det::search
