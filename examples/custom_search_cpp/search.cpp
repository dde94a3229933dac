// A search of one's own in C++: of a list of candidates all train for some length, then the better half for
// twice that, until one is left.
//
//     det-search-example custom.yaml model_dir candidates.json 100 [state_dir [checkpoint]]
//
// With the uuid of a checkpoint all candidates start from its weights.
// Kill it wherever you like and start it again with the same directory: it goes on.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <tuple>

#include "det/searcher/runner.h"

using namespace det;

class Halving final : public searcher::SearchMethod {
 public:
  Halving(std::vector<json::object> candidates, std::int64_t length, std::string checkpoint)
      : candidates_(std::move(candidates)), length_(length), checkpoint_(std::move(checkpoint)) {}

  searcher::Operations initial_operations(const searcher::SearchState&) override {
    searcher::Operations operations;
    for (const auto& hparams : candidates_) {
      const auto id = searcher::new_request_id();
      k_.ids.push_back(id);
      k_.running.push_back(id);
      operations.push_back(searcher::Create{id, hparams, checkpoint_});
      operations.push_back(searcher::ValidateAfter{id, length_});
    }
    return operations;
  }

  searcher::Operations on_validation_completed(const searcher::SearchState&, const std::string& id,
                                               double metric, std::int64_t) override {
    k_.results[id] = metric;
    return next_round();
  }

  searcher::Operations on_trial_closed(const searcher::SearchState& state, const std::string&) override {
    return end(state);
  }

  searcher::Operations on_trial_exited_early(const searcher::SearchState& state, const std::string& id,
                                             searcher::ExitedReason) override {
    std::erase(k_.running, id);
    auto operations = next_round();
    for (auto& operation : end(state)) operations.push_back(std::move(operation));
    return operations;
  }

  double progress(const searcher::SearchState& state) override {
    return static_cast<double>(state.trials_closed.size()) / static_cast<double>(candidates_.size());
  }

  json::value save() const override { return json::to_json(k_); }
  void load(const json::value& saved) override { k_ = json::from_json<Known>(saved).value(); }

  const std::string& best() const { return k_.best; }

  struct Known {
    std::int64_t round = 0;
    std::vector<std::string> ids, running;
    std::map<std::string, double> results;  ///< Of this round.
    std::string best;
  };

 private:
  /// When all of the round have reported: the better half trains twice as long, and who is alone is done.
  searcher::Operations next_round() {
    searcher::Operations operations;
    const auto reported = [&](const auto& id) { return k_.results.contains(id); };
    if (k_.running.empty() || !std::ranges::all_of(k_.running, reported)) return operations;
    // NaN is worst; the order of the list decides between equals.
    const auto rank = [&](const std::string& id) {
      const auto metric = k_.results.at(id);
      return std::tuple(std::isnan(metric), std::isnan(metric) ? 0.0 : metric,
                        std::ranges::find(k_.ids, id) - k_.ids.begin());
    };
    std::ranges::sort(k_.running, {}, rank);
    k_.best = k_.running.front();
    const auto kept = k_.running.size() / 2;  // none, where one was left
    for (std::size_t i = kept; i < k_.running.size(); ++i)
      operations.push_back(searcher::Close{k_.running[i]});
    k_.running.resize(kept);
    k_.results.clear();
    ++k_.round;
    for (const auto& id : k_.running) operations.push_back(searcher::ValidateAfter{id, length_ << k_.round});
    return operations;
  }

  searcher::Operations end(const searcher::SearchState& state) const {
    const auto over = [&](const auto& id) {
      return state.trials_closed.contains(id) || state.failures.contains(id);
    };
    if (!std::ranges::all_of(k_.ids, over)) return {};
    return {searcher::Shutdown{.cancel = false, .failure = k_.best.empty()}};
  }

  std::vector<json::object> candidates_;
  std::int64_t length_;
  std::string checkpoint_;
  Known k_;
};
BOOST_DESCRIBE_STRUCT(Halving::Known, (), (round, ids, running, results, best))

namespace {

Result<std::vector<json::object>> read_candidates(const char* path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  DET_TRY(const auto document, json::parse(text));
  std::vector<json::object> candidates;
  if (document.is_array())
    for (const auto& item : document.get_array())
      if (item.is_object()) candidates.push_back(item.get_object());
  if (candidates.empty()) return invalid_argument("{} has no list of hyperparameters", path);
  return candidates;
}

int failed(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count < 5) {
    std::fprintf(stderr, "usage: %s CONFIG MODEL_DIR CANDIDATES LENGTH [STATE_DIR [CHECKPOINT]]\n", words[0]);
    return 2;
  }
  const auto candidates = read_candidates(words[3]);
  if (!candidates) return failed(candidates.error());
  std::int64_t length = 0;
  const std::string_view text = words[4];
  std::from_chars(text.data(), text.data() + text.size(), length);
  if (length < 1) return failed(Error(ErrorCode::InvalidArgument, "LENGTH must be at least 1"));

  Halving method(*candidates, length, count > 6 ? words[6] : "");
  searcher::RunnerOptions options;
  if (count > 5) options.directory = words[5];
  searcher::SearchRunner runner(method, options);
  const auto experiment = runner.run(words[1], words[2]);
  if (!experiment) return failed(experiment.error());
  std::printf("experiment %lld best %s\n", static_cast<long long>(*experiment), method.best().c_str());
  return runner.state().failed ? 1 : 0;
}
