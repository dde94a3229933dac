#include "det/search/preview.h"

#include <algorithm>
#include <map>

#include "det/search/halving/adaptive.h"
#include "det/search/searcher.h"
#include "det/search/trial_map.h"

namespace det::search {

namespace {

bool trains_whole_trials(std::string_view name) {
  return name == "single" || name == "random" || name == "grid" || name == "tpe";
}

Result<void> add(Preview& preview, PreviewRow row) {
  const auto length = row.lengths.empty() ? 0 : row.lengths.back();
  std::int64_t trained = 0;
  if (__builtin_mul_overflow(row.trials, length, &trained) ||
      __builtin_add_overflow(preview.length, trained, &preview.length))
    return invalid_argument("the search trains {} trials for {} each; the total does not fit in 64 bits",
                            row.trials, length);
  preview.trials += row.trials;
  preview.rows.push_back(std::move(row));
  return {};
}

/// A cluster that trains in no time: one operation of a random trial after another,
/// those of one trial in order.
class Simulation {
 public:
  Simulation(Searcher searcher, std::uint32_t world_seed)
      : searcher_(std::move(searcher)), world_(world_seed) {}

  Result<Preview> run() {
    if (searcher_.progress() != 0)
      return fail(ErrorCode::Internal, "initial searcher progress started at {}", searcher_.progress());
    auto taken = take(searcher_.start());
    while (taken && !ready_.empty()) taken = step(static_cast<std::size_t>(world_.up_to(ready_.size() - 1)));
    if (!taken) return tl::unexpected(std::move(taken).error());
    if (open_.size() > 0 || !shutdown_)
      return fail(ErrorCode::Internal,
                  "the search is stuck: {} trials are open, and the searcher gives them nothing to do",
                  open_.size());
    if (searcher_.progress() != 1)
      return fail(ErrorCode::Internal, "the search ended with progress {}; must be 1", searcher_.progress());
    return result();
  }

 private:
  static constexpr std::int64_t kTrialsMax = 1'000'000;

  struct Trial {
    bool created = false;
    bool closing = false;
    bool ready = true;  // is in ready_
    std::vector<std::int64_t> lengths;
    std::size_t validated = 0;  // how many of the lengths

    /// A trial that nobody told how far to train ends by itself.
    bool ends() const { return validated == lengths.size() && (closing || lengths.empty()); }
    bool waits() const { return validated == lengths.size() && !ends(); }
  };

  Result<void> step(std::size_t at) {
    const auto id = ready_[at];
    auto& trial = open_.at(id);
    if (!trial.created) {
      trial.created = true;
      return take(searcher_.trial_created(id));
    }
    if (trial.ends()) {
      ++rows_[trial.lengths];
      open_.erase(id);
      drop_ready(at);
      return take(searcher_.trial_closed(id));
    }
    const auto length = trial.lengths[trial.validated++];
    if (trial.waits()) {
      trial.ready = false;
      drop_ready(at);
    }
    searcher_.set_trial_progress(id, static_cast<double>(length));
    return take(searcher_.validation_completed(id, world_.unit(), length));
  }

  void drop_ready(std::size_t at) {
    ready_[at] = ready_.back();
    ready_.pop_back();
  }

  Result<void> take(const Operations& operations) {
    for (const auto& operation : operations) {
      if (shutdown_) return fail(ErrorCode::Internal, "the searcher sent operations after it had shut down");
      if (const auto* create = std::get_if<Create>(&operation)) {
        open_.insert(create->request_id);
        ready_.push_back(create->request_id);
        if (++created_ > kTrialsMax)
          return invalid_argument("the search has more than {} trials, the limit of a preview", kTrialsMax);
      } else if (const auto* after = std::get_if<ValidateAfter>(&operation)) {
        open_.at(after->request_id).lengths.push_back(after->length);
        wake(after->request_id);
      } else if (const auto* close = std::get_if<Close>(&operation)) {
        open_.at(close->request_id).closing = true;
        wake(close->request_id);
      } else {
        shutdown_ = true;
        if (open_.size() > 0)
          return fail(ErrorCode::Internal, "searcher shutdown prematurely: {} trials are open", open_.size());
      }
    }
    if (searcher_.progress() < progress_)
      return fail(ErrorCode::Internal, "searcher progress dropped from {} to {}", progress_,
                  searcher_.progress());
    progress_ = searcher_.progress();
    return {};
  }

  void wake(const RequestId& id) {
    auto& trial = open_.at(id);
    if (!trial.ready) ready_.push_back(id);
    trial.ready = true;
  }

  Result<Preview> result() const {
    Preview preview;
    for (const auto& [lengths, trials] : rows_)
      if (auto added = add(preview, {.trials = trials, .lengths = lengths}); !added)
        return tl::unexpected(std::move(added).error());
    if (preview.trials != created_)
      return fail(ErrorCode::Internal, "more trials created than completed: {} and {}", created_,
                  preview.trials);
    return preview;
  }

  Searcher searcher_;
  Random world_;
  TrialMap<Trial> open_;
  std::vector<RequestId> ready_;  // open ones with something to do
  std::map<std::vector<std::int64_t>, std::int64_t> rows_;
  std::int64_t created_ = 0;
  double progress_ = 0;
  bool shutdown_ = false;
};

/// If of each rung one in `divisor` goes on, and always one.
Result<Preview> expected(const std::vector<AsyncBracket>& brackets, double divisor) {
  std::map<std::int64_t, std::int64_t> stop_at;
  for (const auto& bracket : brackets) {
    auto left = bracket.trials;
    for (const auto length : bracket.lengths) {
      const bool top = length == bracket.lengths.back();
      const auto go_on =
          top ? 0 : std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(left) / divisor));
      stop_at[length] += left - go_on;
      left = go_on;
      if (top) break;
    }
  }
  Preview preview;
  for (const auto& [length, trials] : stop_at) {
    if (auto added = add(preview, {.trials = trials, .lengths = {length}}); !added)
      return tl::unexpected(std::move(added).error());
  }
  return preview;
}

}  // namespace

Result<Preview> preview(const config::ExperimentConfig& config, std::uint32_t world_seed) {
  if (config::decided_outside(config.searcher.name))
    return invalid_argument(
        "searcher.name is {}; the preview needs a built-in searcher, because a custom search method runs "
        "elsewhere",
        config.searcher.name);
  const auto& name = config.searcher.name;
  if (config.generation == config::Generation::Time && (name == "adaptive_asha" || name == "async_halving")) {
    DET_TRY(const auto brackets, async_brackets(config));
    const auto* divisor = config.searcher.fields.if_contains("divisor");
    return expected(brackets, divisor == nullptr ? 4 : json::to_double(*divisor).value_or(4));
  }
  auto seeded = config;
  seeded.experiment_seed = 0;
  // Without a length the trial decides how far it trains, as it may with max_time.
  if (trains_whole_trials(name) && config.searcher.max_length.count == 0)
    seeded.generation = config::Generation::Time;
  DET_TRY(auto searcher, Searcher::make(seeded));
  return Simulation(std::move(searcher), world_seed).run();
}

std::vector<PreviewRow> training_times(const config::ExperimentConfig& config, const Preview& preview) {
  const auto& name = config.searcher.name;
  if (name == "single" || name == "random" || name == "grid")
    return {{.trials = preview.trials, .lengths = {}}};
  std::map<std::int64_t, PreviewRow> by_length;
  for (const auto& row : preview.rows) {
    auto& same = by_length[row.lengths.empty() ? 0 : row.lengths.back()];
    same.trials += row.trials;
    if (!row.lengths.empty()) same.lengths = {row.lengths.back()};
  }
  std::vector<PreviewRow> rows;
  for (auto& [length, row] : by_length) rows.push_back(std::move(row));
  return rows;
}

}  // namespace det::search
