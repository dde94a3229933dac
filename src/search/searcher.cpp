#include "det/search/searcher.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "det/search/random_state.h"

namespace det::search {

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
  const auto it = book_.open.find(trial);
  if (it == book_.open.end() || it->second.created) return {};
  it->second.created = true;
  return recorded(method_->trial_created(trial, random_));
}

Operations Searcher::validation_completed(const RequestId& trial, double metric, std::int64_t length) {
  auto* open = find_running(trial);
  if (open == nullptr || length <= open->validated) return {};
  const bool asked = !open->asked.empty() && length >= open->asked.front();
  if (!asked && !hears_every_validation_) return {};
  if (asked) open->asked.erase(open->asked.begin());
  open->validated = length;
  if (!smaller_is_better_) metric = -metric;
  if (std::isnan(metric)) metric = std::numeric_limits<double>::infinity();
  return recorded(method_->validation_completed(trial, metric, length, random_));
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
  const auto it = book_.open.find(trial);
  if (it == book_.open.end()) return {};
  book_.open.erase(it);
  ++book_.trials_closed;
  return recorded(method_->trial_closed(trial, random_));
}

void Searcher::set_trial_progress(const RequestId& trial, double units) {
  if (find_running(trial) == nullptr || !std::isfinite(units) || units < 0) return;
  method_->trial_progressed(trial, units);
  recorded({});
}

/// A trial that is open and has not exited.
Searcher::Open* Searcher::find_running(const RequestId& trial) {
  const auto it = book_.open.find(trial);
  return it == book_.open.end() || it->second.exit ? nullptr : &it->second;
}

/// Remembers what the method asks for, and ends the search when nothing is left to ask.
Operations Searcher::recorded(Operations operations) {
  for (const auto& operation : operations) {
    if (const auto* create = std::get_if<Create>(&operation)) {
      DET_ASSERT(book_.open.try_emplace(create->request_id).second);
      ++book_.trials_requested;
    } else if (const auto* after = std::get_if<ValidateAfter>(&operation)) {
      const auto it = book_.open.find(after->request_id);
      DET_ASSERT(it != book_.open.end());
      it->second.asked.push_back(after->length);
    } else if (const auto* close = std::get_if<Close>(&operation)) {
      DET_ASSERT(book_.open.contains(close->request_id));
    } else {
      book_.shutdown = true;
    }
  }
  if (!book_.shutdown && book_.trials_closed == book_.trials_requested) {
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

struct Saved {
  json::value rand;
  json::value search_method_state;
  json::value searcher;
};
BOOST_DESCRIBE_STRUCT(Saved, (), (rand, search_method_state, searcher))

Error in_part(Error error, const char* part) {
  return std::move(error).within(part).within("the saved state of the search");
}

}  // namespace

json::value Searcher::snapshot() const {
  const Saved saved{.rand = random_to_json(random_),
                    .search_method_state = method_->snapshot(),
                    .searcher = json::to_json(book_)};
  return json::to_json(saved);
}

Result<Searcher> Searcher::restore(const config::ExperimentConfig& config, const json::value& snapshot) {
  DET_TRY(auto searcher, make(config));
  auto saved = json::from_json<Saved>(snapshot);
  if (!saved) return tl::unexpected(in_part(std::move(saved).error(), "all of it"));
  auto random = random_from_json(saved->rand);
  if (!random) return tl::unexpected(in_part(std::move(random).error(), "rand"));
  auto restored = searcher.method_->restore(saved->search_method_state);
  if (!restored) return tl::unexpected(in_part(std::move(restored).error(), "search_method_state"));
  auto book = json::from_json<Bookkeeping>(saved->searcher);
  if (!book) return tl::unexpected(in_part(std::move(book).error(), "searcher"));
  searcher.random_ = *std::move(random);
  searcher.book_ = *std::move(book);
  return searcher;
}

}  // namespace det::search
