#include "world.h"

#include <algorithm>
#include <cmath>

#include "det/config/experiment_config.h"

namespace det::simulation {
namespace {

constexpr std::int64_t kMinute = 60 * kSecond;

// Small experiments of every kind that this build searches.
const std::vector<json::object>& documents() {
  static const auto made = [] {
    constexpr const char* kTexts[] = {
        "searcher: {name: single, metric: loss, max_length: {batches: 400}}\n",
        "searcher: {name: single, metric: loss, max_steps: 3}\nresources: {slots_per_trial: "
        "2}\nmin_validation_period: 1\n",
        "searcher: {name: random, metric: loss, max_trials: 4, max_length: {batches: 150}, "
        "max_concurrent_trials: 2}\nmin_checkpoint_period: {batches: 60}\n",
        "searcher: {name: grid, metric: loss, max_length: {batches: 90}, max_concurrent_trials: "
        "3}\nscheduling_unit: 25\ncheckpoint_policy: all\n",
        "searcher: {name: single, metric: loss, max_length: {batches: 300}}\nresources: {slots_per_trial: "
        "4}\ncheckpoint_policy: none\nmin_validation_period: {batches: 70}\nperform_initial_validation: "
        "true\n",
        "searcher: {name: adaptive_asha, metric: loss, max_trials: 5, divisor: 2, max_rungs: 3, mode: "
        "aggressive, "
        "max_concurrent_trials: 2, max_length: {batches: 120}}\n",
        "searcher: {name: async_halving, metric: loss, num_rungs: 3, divisor: 2, max_trials: 4, stop_once: "
        "true, "
        "max_concurrent_trials: 2, max_length: {batches: 80}}\nmin_validation_period: {batches: 30}\n",
        "searcher: {name: pbt, metric: loss, population_size: 3, num_rounds: 2, length_per_round: {batches: "
        "40}, "
        "replace_function: {truncate_fraction: 0.34}, explore_function: {resample_probability: 0.2, "
        "perturb_factor: 0.2}}\n",
        "searcher: {name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 5, "
        "deterministic: true, "
        "max_concurrent_trials: 2, max_length: {batches: 70}}\n",
        "searcher: {name: custom, metric: loss, unit: batches}\nmin_validation_period: {batches: 20}\n",
        "searcher: {name: single, metric: loss, max_length: {batches: 300}}\nresources: {slots_per_trial: "
        "{min: 1, max: 4, resize_after: 10}}\n",
        "searcher: {name: random, metric: loss, max_trials: 3, max_length: {batches: 100}}\nresources: "
        "{slots_per_trial: {min: 1, max: 4, batch: per_slot, resize_after: 1}}\n",
    };
    std::vector<json::object> documents;
    for (const auto* text : kTexts) {
      config::Layers layers;
      layers.master["checkpoint_storage"] = {{"type", "shared_fs"}, {"host_path", "/simulated"}};
      layers.user_yaml =
          std::string(text) +
          "entrypoint: model:Trial\nmax_restarts: 1000\nreproducibility: {experiment_seed: 1}\n"
          "hyperparameters: {global_batch_size: 4, lr: {type: double, minval: 0, maxval: 1, count: 3}}\n";
      const auto resolved =
          config::resolve(layers, {.now = {}, .pet_name = "simulated", .resource_pools = std::nullopt});
      if (!resolved) throw std::runtime_error("simulation: " + join_errors(resolved.error()).message());
      documents.push_back(resolved->config.document);
    }
    return documents;
  }();
  return made;
}

}  // namespace

World::World(std::uint64_t seed, Mutant planted) : random(static_cast<std::uint32_t>(seed)), mutant(planted) {
  const bool about_machines = mutant == Mutant::OrphansKept || mutant == Mutant::AllotmentEndIgnored;
  if (seed % 4 == 2 || about_machines)
    engine = std::make_unique<Engine>(*this, static_cast<std::uint32_t>(seed) + 7);
}

void World::after(std::int64_t microseconds, std::function<void()> what) {
  queue_.push({now + std::max<std::int64_t>(microseconds, 1), order_++, std::move(what)});
}

void World::broken(const std::string& rule, const std::string& what) const {
  throw Violation{rule + ": " + what};
}

void World::note(std::string text) {
  for (const char c : text) trace_ = (trace_ ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  trace_ ^= static_cast<std::uint64_t>(now.microseconds);
  recent_.push_back(fmt::format("{:.3f} {}", static_cast<double>(now.microseconds) / kSecond, text));
  if (recent_.size() > 200) recent_.pop_front();
}

void World::send(const std::string& from, const std::string& to, std::function<void()> deliver) {
  if (cut_off_.contains(from) || cut_off_.contains(to)) return;
  int copies = 1;
  auto delay = between(1, 20) * kMillisecond;
  if (!calm()) {
    if (chance(faults.drop)) return void(++fault_count);
    if (chance(faults.duplicate)) copies = 2, ++fault_count;
    if (chance(faults.late)) delay = between(100, 45'000) * kMillisecond, ++fault_count;
  }
  for (int i = 0; i < copies; ++i) after(delay + i * between(0, 5000) * kMillisecond, deliver);
}

// Swarm: a random subset of the kinds, each with a random rate.
void World::plan_faults() {
  const auto draw = [&](double most) { return chance(0.5) ? most * random.unit() : 0.0; };
  faults = {.drop = draw(0.1),
            .duplicate = draw(0.1),
            .late = draw(0.05),
            .master_crashes = draw(6),
            .agent_crashes = draw(6),
            .machine_losses = draw(1.5),
            .process_crashes = draw(6),
            .partitions = draw(2),
            .slow_syncs = draw(0.3)};
  // One world in 50,000 has both at the right time by chance; with these it is one in some hundred.
  if (mutant == Mutant::LeaseCountedFromReceipt) faults.late = 0.4, faults.partitions = 8;
  faults_end = now + between(30, 120) * kSecond;
  const auto strike = [&](double per_minute, std::function<void()> what) {
    if (per_minute <= 0) return;
    auto* again = kept();
    const auto pause = [this, per_minute] {
      return static_cast<std::int64_t>(-std::log(1 - random.unit()) * static_cast<double>(kMinute) /
                                       per_minute);
    };
    *again = [this, what, again, pause] {
      if (calm()) return;
      ++fault_count;
      what();
      after(pause(), *again);
    };
    after(pause(), *again);
  };
  const auto any_agent = [this]() -> SimAgent& {
    auto it = agents.begin();
    std::advance(it, random.below(static_cast<std::int64_t>(agents.size())));
    return *it->second;
  };
  strike(faults.master_crashes, [this] {
    if (!master->alive()) return;
    note("master crashes");
    master->crash();
    after(between(10, 40'000) * kMillisecond, [this] {
      note("master starts");
      master->start();
      check_master_start();
    });
  });
  const auto restart_agent = [this](SimAgent& agent) {
    after(between(10, 60'000) * kMillisecond, [this, &agent] {
      note("agent starts: " + agent.id());
      agent.start();
    });
  };
  strike(faults.agent_crashes, [this, any_agent, restart_agent] {
    auto& agent = any_agent();
    if (!agent.alive()) return;
    note("agent crashes: " + agent.id());
    agent.crash();
    restart_agent(agent);
  });
  strike(faults.machine_losses, [this, any_agent, restart_agent] {
    auto& agent = any_agent();
    if (!agent.alive()) return;
    note("machine lost: " + agent.id());
    agent.lose_machine();
    restart_agent(agent);
  });
  strike(faults.process_crashes, [this, any_agent] {
    auto& agent = any_agent();
    for (const auto& [key, process] : agent.processes())
      if (process->alive && chance(0.5)) {
        ++real_failures[process->trial];
        return end_process(process, 1, 0);
      }
  });
  strike(faults.partitions, [this, any_agent] {
    const auto id = any_agent().id();
    note("cut off: " + id);
    cut_off_.insert(id);
    after(between(1, 60) * kSecond, [this, id] { cut_off_.erase(id); });
  });
}

void World::plan_users() {
  submissions_left_ = static_cast<int>(between(1, 4));
  const int count = submissions_left_;
  for (int i = 0; i < count; ++i)
    after(between(1, 20'000) * kMillisecond, [this] {
      experiment::ExperimentRecord record;
      record.config =
          documents()[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(documents().size())))];
      record.config["reproducibility"].as_object()["experiment_seed"] = random.below(1'000'000);
      record.name = "simulated";
      record.job_id = random.uuid();
      record.resource_pool = "default";
      auto* attempt = kept();
      *attempt = [this, record, attempt] {
        if (!master->alive()) return after(kSecond, *attempt);
        --submissions_left_;
        master->submit(record,
                       [this](const Reply& reply) { note(fmt::format("submitted {}", reply.experiment)); });
      };
      (*attempt)();
    });
  // Commands at random moments; in the end everything is activated again.
  const auto commands = between(0, 5);
  for (std::int64_t i = 0; i < commands; ++i)
    after(between(1, 60) * kSecond, [this] {
      if (!master->alive() || master->cluster().experiments().empty()) return;
      auto it = master->cluster().experiments().begin();
      std::advance(it, random.below(static_cast<std::int64_t>(master->cluster().experiments().size())));
      constexpr cluster::Verb kVerbs[] = {cluster::Verb::Pause,    cluster::Verb::Pause,
                                          cluster::Verb::Activate, cluster::Verb::Activate,
                                          cluster::Verb::Cancel,   cluster::Verb::Kill};
      const auto verb = kVerbs[random.below(chance(0.2) ? 6 : 4)];
      note(fmt::format("command {} to {}", static_cast<int>(verb), it->first));
      master->command(cluster::ExperimentCommanded{it->first, verb}, [](const Reply&) {});
    });
}

// Users change what can be changed while experiments run.
void World::plan_patches() {
  const auto patches = between(0, 4);
  for (std::int64_t i = 0; i < patches; ++i)
    after(between(1, 60) * kSecond, [this] {
      if (!master->alive() || master->cluster().experiments().empty()) return;
      auto it = master->cluster().experiments().begin();
      std::advance(it, random.below(static_cast<std::int64_t>(master->cluster().experiments().size())));
      experiment::Reconfiguration change;
      change.no_max_slots = chance(0.3);
      if (!change.no_max_slots) change.max_slots = between(1, 6);  // too few for its trials: refused
      if (chance(0.5)) change.priority = between(1, 99);
      if (chance(0.3)) change.save_trial_latest = between(0, 2);
      // Where the search cannot be changed so: refused as a whole.
      if (chance(0.3)) change.max_trials = between(3, 9);
      if (chance(0.2)) change.max_length = between(100, 500);
      if (chance(0.2)) change.max_concurrent_trials = between(0, 4);
      if (it->second.config().searcher.name == "pbt") {
        change.num_rounds = std::exchange(change.max_trials, std::nullopt);
        change.max_length = change.max_concurrent_trials = std::nullopt;
      }
      cluster::ExperimentPatched patched{it->first, {}, {}, {}, {}};
      patched.config = change;
      note(fmt::format("patch of {}", it->first));
      master->command(std::move(patched), [](const Reply&) {});
    });
}

// … and extend searches that are complete.
void World::plan_extensions() {
  for (auto i = between(0, 2); i > 0; --i)
    after(between(20, 60) * kSecond, [this] {
      if (!master->alive()) return;
      for (const auto& [id, kept] : tables.searches) {
        if (master->cluster().experiment(id) != nullptr) continue;
        if (kept.state.is_array()) continue;  // of a single trial: it is not extended
        cluster::ExperimentExtended extended{tables.experiments.at(id), kept.state, {}};
        extended.record.config = kept.config;
        extended.change.max_trials = between(4, 9);
        note(fmt::format("extension of {}", id));
        return master->command(std::move(extended), [](const Reply&) {});
      }
    });
}

// … and continue those that were stopped, or whose trials failed.
void World::plan_continuations() {
  for (auto i = between(0, 8); i > 0; --i)
    after(between(5, 60) * kSecond, [this] {
      if (!master->alive()) return;
      for (const auto& [id, kept] : tables.searches) {
        const auto& record = tables.experiments.at(id);
        if (master->cluster().experiment(id) != nullptr || kept.state.is_array()) continue;
        if (record.state == experiment::State::Completed) continue;
        cluster::SearchContinued continued{record, kept.state, {}};
        continued.record.config = kept.config;
        std::map<TrialId, Time> newest;
        for (const auto& [uuid, checkpoint] : tables.checkpoints) {
          if (checkpoint.experiment_id != id || checkpoint.state != experiment::CheckpointState::Completed)
            continue;
          const auto [seen, first] = newest.try_emplace(checkpoint.trial_id, checkpoint.report_time);
          if (!first && checkpoint.report_time < seen->second) continue;
          seen->second = checkpoint.report_time;
          continued.checkpoints[checkpoint.trial_id] = {uuid, checkpoint.batches};
        }
        note(fmt::format("continuation of {}", id));
        return master->command(std::move(continued), [](const Reply&) {});
      }
    });
}

// … and the order of the queue.
void World::plan_queue_moves() {
  const auto moves = between(0, 3);
  for (std::int64_t i = 0; i < moves; ++i)
    after(between(1, 60) * kSecond, [this] {
      if (!master->alive() || master->cluster().experiments().empty()) return;
      const auto any = [this] {
        auto it = master->cluster().experiments().begin();
        std::advance(it, random.below(static_cast<std::int64_t>(master->cluster().experiments().size())));
        return it->first;
      };
      const cluster::JobMoved moved{.id = any(), .anchor = any(), .ahead = chance(0.5)};
      note(fmt::format("move of {} to {}", moved.id, moved.anchor));
      master->command(moved, [](const Reply&) {});
    });
}

// … and start tasks that are no trials, and kill some of them.
void World::plan_tasks() {
  for (auto i = between(0, 4); i > 0; --i)
    after(between(1, 60) * kSecond, [this, id = fmt::format("task{}", i)] {
      if (!master->alive()) return;
      cluster::TaskSubmitted submitted{{.id = id,
                                        .command = {"work"},
                                        .job_id = "job-" + id,
                                        .resource_pool = "default",
                                        .slots = static_cast<int>(between(0, 1)),
                                        .start_time = now}};
      if (chance(0.3)) submitted.record.priority = static_cast<int>(between(1, 99));
      note("submission of " + id);
      master->command(std::move(submitted), [this, id](const Reply& reply) {
        if (reply.answer == Answer::Good) acknowledged_tasks.insert(id);
      });
      if (chance(0.3))
        after(between(1, 30) * kSecond, [this, id] {
          if (master->alive()) master->command(cluster::TaskKilled{id, "killed"}, [](const Reply&) {});
        });
    });
}

cluster::Pools World::pools() {
  cluster::PoolSettings settings{.name = "default"};
  settings.policy = static_cast<scheduler::Policy>(random.below(4));
  settings.fitting = chance(0.5) ? scheduler::Fitting::Best : scheduler::Fitting::Worst;
  settings.preemption = settings.policy == scheduler::Policy::Priority && chance(0.7);
  // That bug is rare enough already.
  settings.idle_seconds =
      mutant == Mutant::LeaseCountedFromReceipt || chance(0.3) ? 0 : static_cast<int>(between(1, 120));
  if (engine) settings.elastic = engine->limits();
  note(fmt::format("scheduler {}{}", cluster::policy_name(settings.policy),
                   settings.preemption ? " with preemption" : ""));
  return {.pools = {settings}};
}

Verdict World::run() {
  Verdict verdict;
  try {
    master = std::make_unique<SimMaster>(*this);
    const auto count = between(1, 3);
    bool large = false;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto slots = static_cast<int>(between(1, 4));
      large = large || slots == 4;
      const auto id = fmt::format("agent{}", i);
      agents[id] =
          std::make_unique<SimAgent>(*this, id, i + 1 == count && !large ? 4 : slots,
                                     chance(0.5) ? agent::OnDisconnect::Continue : agent::OnDisconnect::Stop);
    }
    now = Time{1'700'000'000 * kSecond};
    if (engine) engine->begin();
    master->start();
    for (auto& [id, agent] : agents) agent->start();
    plan_faults();
    plan_users();
    plan_patches();
    plan_extensions();
    plan_continuations();
    plan_queue_moves();
    plan_tasks();
    run_searches();
    const auto users_end = now + 61 * kSecond;
    const auto limit = faults_end + 120 * kMinute;
    bool activated = false;
    while (!queue_.empty()) {
      auto event = std::move(const_cast<Event&>(queue_.top()));
      queue_.pop();
      now = event.time;
      ++events_;
      event.what();
      if (calm() && now >= users_end && !activated && master->alive()) {
        activated = true;
        cut_off_.clear();
        std::vector<ExperimentId> paused;
        for (const auto& [id, experiment] : master->cluster().experiments())
          if (experiment.record().state == experiment::State::Paused) paused.push_back(id);
        for (const auto id : paused)
          master->command(cluster::ExperimentCommanded{id, cluster::Verb::Activate}, [](const Reply&) {});
      }
      if (activated && events_ % 64 == 0 && all_over()) break;
      if (now > limit)
        broken("I-15", "not everything ended although the faults ended two hours ago: " + state());
      if (events_ > 400'000) broken("I-15", "the world does not come to rest");
    }
    check_end();
  } catch (const Violation& violation) {
    verdict.violation = violation.text;
  }
  verdict.faults = fault_count;
  verdict.events = events_;
  verdict.trace = trace_;
  verdict.last_events.assign(recent_.begin(), recent_.end());
  return verdict;
}

std::string World::state() const {
  if (!master->alive()) return "the master is down";
  auto text =
      fmt::format("{} submissions left, {} of {} commits durable", submissions_left_, durable, disk.size());
  for (const auto& [id, experiment] : master->cluster().experiments())
    text += fmt::format("; experiment {} {}", id, json::serialize(json::to_json(experiment.record().state)));
  for (const auto& [id, allotment] : master->cluster().allotments())
    text += fmt::format("; allotment {} {}", id, boost::describe::enum_to_string(allotment.state, "?"));
  for (const auto& [id, allocation] : master->cluster().allocations())
    text += fmt::format("; allocation {} {}{}", id, json::serialize(json::to_json(allocation.record.state)),
                        allocation.kill ? " (kill)" : "");
  return text;
}

bool World::all_over() const {
  return submissions_left_ == 0 && master->alive() && master->cluster().experiments().empty() &&
         master->cluster().tasks().empty() && durable == disk.size() &&
         (engine == nullptr || engine->at_rest());
}

// I-1: what was acknowledged is there.
void World::check_master_start() {
  for (const auto& [trial, group, batches] : acknowledged_metrics)
    if (!tables.metrics.contains({trial, group, batches}))
      broken("I-1", fmt::format("the acknowledged {} report of trial {} at {} batches is lost", group, trial,
                                batches));
  for (const auto& uuid : acknowledged_checkpoints)
    if (!tables.checkpoints.contains(uuid)) broken("I-1", "the acknowledged checkpoint " + uuid + " is lost");
  for (const auto id : acknowledged_experiments)
    if (!tables.experiments.contains(id))
      broken("I-1", fmt::format("the acknowledged experiment {} is lost", id));
}

// I-1, I-15 of tasks that are no trials.
void World::check_tasks() {
  for (const auto& id : acknowledged_tasks)
    if (!tables.tasks.contains(id)) broken("I-1", "the acknowledged task " + id + " is lost");
  for (const auto& [id, task] : tables.tasks)
    if (task.state != task::State::Terminated || task.exit_status.empty())
      broken("I-15", "task " + id + " is not terminated, or does not say why");
}

void World::check_end() {
  check_master_start();
  check_slot_time();
  check_tasks();
  for (const auto& [id, record] : tables.experiments)
    if (!experiment::is_terminal(record.state))
      broken("I-15", fmt::format("experiment {} is not terminal", id));
  for (const auto& [id, trial] : tables.trials) {
    if (!experiment::is_terminal(trial.state)) broken("I-15", fmt::format("trial {} is not terminal", id));
    if (trial.restarts > real_failures[id])
      broken("I-6", fmt::format("trial {} was restarted {} times for {} failures", id, trial.restarts,
                                real_failures[id]));
  }
  for (const auto& [key, row] : tables.metrics) {
    const auto& [trial, group, batches] = key;
    if (row.copies != 1)
      broken("I-4", fmt::format("the {} report of trial {} at {} batches is stored {} times", group, trial,
                                batches, row.copies));
    if (row.value != undisturbed(tables.trials.at(trial).seed, batches))
      broken("I-14", fmt::format("the {} report of trial {} at {} batches differs from an undisturbed run",
                                 group, trial, batches));
  }
}

// I-18: what the rows say that allocations held is what the slots were in use, moment for moment.
void World::check_slot_time() {
  std::int64_t used = 0, told = 0;
  cluster::Cluster replayed;
  Time last{};
  for (const auto& commit : disk) {
    if (!commit.event) continue;
    std::int64_t slots = 0;
    for (const auto& [id, allocation] : replayed.allocations())
      for (const auto& share : allocation.record.shares)
        if (allocation.uses(share.agent)) slots += static_cast<std::int64_t>(share.slots.size());
    used += slots * (commit.time - last);
    last = commit.time;
    replayed.handle(*commit.event, commit.time);
  }
  for (const auto& [id, allocation] : tables.allocations) {
    if (allocation.start_time && !allocation.end_time)
      broken("I-18", "the row of allocation " + id + " has no end");
    told += experiment::slot_microseconds(allocation, last);
  }
  if (used != told)
    broken("I-18", fmt::format("slots were in use for {} µs, and the allocations say {} µs", used, told));
}

Verdict simulate(std::uint64_t seed, Mutant mutant) {
  return World(seed, mutant).run();
}

}  // namespace det::simulation
