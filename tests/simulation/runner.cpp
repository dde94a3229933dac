// A runner of custom searches, simulated: the protocol of python/determined/searcher, over the same bad
// network.

#include "world.h"

namespace det::simulation {
namespace {

using search::SearchEvent;
using search::SearchWish;

SearchWish train(const search::RequestId& id, std::int64_t length) {
  return {.kind = SearchWish::Kind::ValidateAfter, .request_id = id, .length = length};
}
SearchWish close(const search::RequestId& id) {
  return {.kind = SearchWish::Kind::Close, .request_id = id};
}

void create(SearchState& state, std::vector<SearchWish>& wishes) {
  const auto id = fmt::format("00000000-0000-4000-8000-{:012x}", ++state.created);
  wishes.push_back(
      {.kind = SearchWish::Kind::Create, .request_id = id, .hparams = {{"global_batch_size", 4}}});
  wishes.push_back(train(id, 30));
}

/// What the method says to an event: three trials, more after good results, longer for half of them.
std::vector<SearchWish> decide(SearchState& state, const SearchEvent& event) {
  using Kind = SearchEvent::Kind;
  std::vector<SearchWish> wishes;
  const auto& id = event.request_id;
  if (event.kind == Kind::InitialOperations) {
    for (int i = 0; i < 3; ++i) create(state, wishes);
  } else if (event.kind == Kind::ValidationCompleted) {
    const auto value = static_cast<std::int64_t>(event.value);
    if (value % 3 == 0 && state.created < 5) create(state, wishes);
    wishes.push_back(event.length == 30 && value % 2 == 0 ? train(id, 60) : close(id));
  } else if (event.kind == Kind::TrialClosed && ++state.closed == state.created) {
    wishes.push_back({.kind = SearchWish::Kind::Shutdown});
  }
  return wishes;
}

}  // namespace

void World::run_searches() {
  if (master->alive()) {
    std::vector<ExperimentId> custom;
    for (const auto& [id, experiment] : master->cluster().experiments())
      if (experiment.search_events() != nullptr) custom.push_back(id);
    for (const auto id : custom)
      send("runner", "master", [this, id] {
        if (!master->alive()) return;
        master->search_events(id, [this, id](std::vector<SearchEvent> events) {
          send("master", "runner", [this, id, events = std::move(events)] { answer_events(id, events); });
        });
      });
  }
  after(between(200, 1500) * kMillisecond, [this] { run_searches(); });
}

// Answers the first event that it does not know, or once more the last that it does.
void World::answer_events(ExperimentId id, const std::vector<SearchEvent>& events) {
  auto& state = searches_[id];
  for (auto event : events) {
    if (event.kind == SearchEvent::Kind::TrialProgress) event.value = 0;  // it may have grown meanwhile
    if (event.id < state.last.id) continue;                               // an old letter
    if (event.id == state.last.id) {
      if (event != state.last)
        broken("I-2",
               fmt::format("experiment {} told of event {}, and then of another with that id", id, event.id));
    } else if (event.id > state.last.id + 1) {
      broken("I-19", fmt::format("experiment {} tells of event {} after {}", id, event.id, state.last.id));
    } else {
      state.pending = decide(state, event);
      state.last = event;                                      // saved, with the answer, before it is sent
      if (!calm() && chance(0.1)) return void(++fault_count);  // killed here: what was saved is sent later
    }
    send("runner", "master", [this, answered = cluster::SearchAnswered{id, state.last.id, state.pending}] {
      if (master->alive()) master->command(answered, [](const Reply&) {});
    });
    return;
  }
}

// I-19: each event of a search was heard of once and in order, and each trial is there once.
void World::check_search(ExperimentId id, const experiment::Experiment& experiment) const {
  const auto found = searches_.find(id);
  if (found == searches_.end() || experiment.record().state != experiment::State::Completed) return;
  const auto trials = static_cast<std::int64_t>(experiment.trials().size());
  if (trials != found->second.created)
    broken("I-19", fmt::format("experiment {} has {} trials; its search created {}", id, trials,
                               found->second.created));
}

}  // namespace det::simulation
