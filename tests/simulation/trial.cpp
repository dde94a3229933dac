// A trial's process, simulated: it executes what trial::next_action says, as python/determined does.

#include "world.h"

namespace det::simulation {
namespace {

std::string key_of(const std::string& allocation, int rank) {
  return fmt::format("{}/{}", allocation, rank);
}

}  // namespace

std::uint64_t undisturbed(std::int64_t seed, std::int64_t batches) {
  auto weights = static_cast<std::uint64_t>(seed);
  for (std::int64_t i = 0; i < batches; ++i) weights = mix(weights, i);
  return weights;
}

void World::start_process(const std::string& agent, const api::DesiredAllocation& allocation, int rank) {
  auto process = std::make_shared<Process>();
  process->agent = agent;
  process->allocation = allocation.allocation_id;
  process->trial = allocation.trial_id;
  process->rank = rank;
  process->size = allocation.size;
  process->slots = allocation.slot_ids;
  process->number = ++processes_started_;
  if (!process->trial) return run_task(process, allocation.task_id);
  process->checkpoint = allocation.environment.at("checkpoint");
  process->seed = std::stoll(allocation.environment.at("seed"));
  process->weights = static_cast<std::uint64_t>(process->seed);
  check_process_start(*process);
  note(
      fmt::format("start {} rank {} on {} from '{}'", process->allocation, rank, agent, process->checkpoint));
  agents.at(agent)->processes()[{process->allocation, rank}] = process;
  if (!process->checkpoint.empty()) {
    const auto found = storage.find(process->checkpoint);
    if (found == storage.end() || !found->second.complete)
      broken("I-7", "checkpoint " + process->checkpoint + " is gone and needed");
    process->loop = found->second.loop;
    process->weights = found->second.weights;
  }
  if (mutant == Mutant::ResumeFromTheBeginning) process->weights = static_cast<std::uint64_t>(process->seed);
  if (rank != 0) return;
  if (const auto* experiment =
          master->alive() ? master->cluster().experiment(allocation.experiment_id) : nullptr) {
    const auto config = trial::loop_config(experiment->config(), 1);
    if (config) process->config = *config;
  }
  process->can_wait = mutant != Mutant::LeaseCountedFromReceipt && process->number % 3 != 0;
  after(between(1, 100) * kMillisecond, [this, process] { watch_preemption(process); });
  after(between(10, 200) * kMillisecond, [this, process] { step(process); });
}

void World::watch_preemption(const std::shared_ptr<Process>& process) {
  if (!process->alive || process->preempt) return;
  call(
      process,
      [process](SimMaster& m, Respond respond) { m.preemption(process->allocation, std::move(respond)); },
      [this, process](const Reply& reply) {
        process->preempt = reply.preempt;
        if (reply.preempt) process->preemption = reply.preemption;
        if (!reply.preempt) after(kSecond, [this, process] { watch_preemption(process); });
      });
}

// A task that is no trial: it ends by itself, well or not, and is never begun twice.
void World::run_task(const std::shared_ptr<Process>& process, const std::string& task) {
  check_process_start(*process);
  note(fmt::format("start {} on {}", process->allocation, process->agent));
  if (++task_starts[task] > 1) broken("I-11", "task " + task + " was begun twice");
  agents.at(process->agent)->processes()[{process->allocation, process->rank}] = process;
  const int code = chance(0.2) ? 1 : 0;
  after(between(1, 40) * kSecond, [this, process, code] { end_process(process, code, 0); });
}

// I-11, I-2: a rank starts once, and only on a durable decision.
void World::check_process_start(const Process& process) {
  if (++starts[key_of(process.allocation, process.rank)] > 1)
    broken("I-11",
           "rank " + std::to_string(process.rank) + " of " + process.allocation + " was started twice");
  for (const auto& [key, other] : agents.at(process.agent)->processes())
    if (other->alive && other->allocation != process.allocation)
      for (const auto slot : other->slots)
        if (std::find(process.slots.begin(), process.slots.end(), slot) != process.slots.end())
          broken("I-11", fmt::format("{} and {} are on slot {} of {} at once", process.allocation,
                                     other->allocation, slot, process.agent));
  // Where machines end what they run when they lose the master, a trial never runs twice.
  for (const auto& [id, agent] : agents)
    for (const auto& [key, other] : agent->processes())
      if (process.trial && other->alive && other->trial == process.trial &&
          other->allocation != process.allocation && agent->ends_with_its_lease())
        broken("I-3", fmt::format("trial {} runs as {} and as {}", process.trial, other->allocation,
                                  process.allocation));
  const auto placed = placed_by.find(process.allocation);
  if (placed == placed_by.end() || placed->second >= durable)
    broken("I-2", process.allocation + " was started before the decision to start it was durable");
}

void World::call(const std::shared_ptr<Process>& process, std::function<void(SimMaster&, Respond)> request,
                 std::function<void(const Reply&)> then) {
  auto* attempt = kept();
  const auto answered = std::make_shared<bool>(false);
  const auto host = process->agent;
  *attempt = [this, process, request, then, attempt, answered, host] {
    if (*answered || !process->alive) {
      *attempt = {};
      return;
    }
    send(host, "master", [this, process, request, then, answered, host] {
      if (!master->alive()) return;
      request(*master, [this, process, then, answered, host](const Reply& reply) {
        send("master", host, [this, process, then, answered, reply] {
          if (*answered || !process->alive) return;
          *answered = true;
          if (reply.answer == Answer::Gone) return end_process(process, 80, 0);
          then(reply);
        });
      });
    });
    after(between(1000, 4000) * kMillisecond, *attempt);
  };
  (*attempt)();
}

void World::step(const std::shared_ptr<Process>& process) {
  if (!process->alive) return;
  // The ranks wait for one another.
  int present = 0;
  for (const auto& [id, agent] : agents)
    for (const auto& [key, other] : agent->processes())
      present += other->alive && other->allocation == process->allocation ? 1 : 0;
  if (present < process->size) return after(kSecond, [this, process] { step(process); });
  if (!process->loaded) {
    process->loaded = true;
    call(
        process,
        [process](SimMaster& m, Respond respond) { m.operations(process->allocation, std::move(respond)); },
        [this, process](const Reply& reply) {
          process->lengths = reply.lengths;
          process->closed = reply.closed;
          if (mutant == Mutant::LoopStateFromTheMaster && !process->lengths.empty() &&
              process->loop.batches_trained > 0)
            process->loop.batches_trained = process->lengths.front();
          step(process);
        });
    return;
  }
  const trial::Wishes wishes{
      .lengths = process->lengths, .closed = process->closed, .preempt = process->preempt};
  const auto action = trial::next_action(process->config, process->loop, wishes);
  if (const auto* chunk = std::get_if<trial::Train>(&action)) {
    train(process, chunk->batches);
  } else if (std::holds_alternative<trial::Validate>(action)) {
    validate(process);
  } else if (std::holds_alternative<trial::Checkpoint>(action)) {
    save(process);
  } else if (const auto* complete = std::get_if<trial::CompleteOperation>(&action)) {
    const cluster::Event event = cluster::OperationCompleted{process->allocation, complete->length,
                                                             static_cast<double>(process->weights % 1000)};
    call(
        process, [event](SimMaster& m, Respond respond) { m.report(event, std::move(respond)); },
        [this, process](const Reply&) {
          process->loop.complete_operation();
          process->loaded = false;  // ask for what comes next
          step(process);
        });
  } else if (std::holds_alternative<trial::Wait>(action)) {
    process->loaded = false;
    after(kSecond, [this, process] { step(process); });
  } else {
    leave(process, std::get<trial::Exit>(action).preempted);
  }
}

void World::train(const std::shared_ptr<Process>& process, std::int64_t batches) {
  after(batches * between(2, 20) * kMillisecond, [this, process, batches] {
    if (!process->alive) return;
    for (std::int64_t i = 0; i < batches; ++i)
      process->weights = mix(process->weights, process->loop.batches_trained + i);
    process->loop.train(batches);
    process->unreported.emplace_back(process->loop.batches_trained, process->weights);
    report_next(process);
    step(process);
  });
}

// Training reports go out one after the other, while training goes on.
void World::report_next(const std::shared_ptr<Process>& process) {
  if (process->reporting || process->unreported.empty() || !process->alive) return;
  process->reporting = true;
  const auto [batches, weights] = process->unreported.front();
  call(
      process,
      [process, batches, weights](SimMaster& m, Respond respond) {
        m.report_metrics(process->allocation, "training", batches, weights, std::move(respond));
      },
      [this, process](const Reply&) {
        process->unreported.pop_front();
        process->reporting = false;
        report_next(process);
      });
}

void World::validate(const std::shared_ptr<Process>& process) {
  if (!process->unreported.empty())
    return after(100 * kMillisecond, [this, process] {
      if (process->alive) validate(process);
    });
  after(between(5, 50) * kMillisecond, [this, process] {
    if (!process->alive) return;
    const auto batches = process->loop.batches_trained;
    const auto weights = process->weights;
    call(
        process,
        [process, batches, weights](SimMaster& m, Respond respond) {
          m.report_metrics(process->allocation, "validation", batches, weights, std::move(respond));
        },
        [this, process](const Reply&) {
          process->loop.validate(static_cast<double>(process->weights % 1000),
                                 process->config.smaller_is_better);
          step(process);
        });
  });
}

void World::save(const std::shared_ptr<Process>& process) {
  if (!process->unreported.empty())
    return after(100 * kMillisecond, [this, process] {
      if (process->alive) save(process);
    });
  const auto uuid =
      fmt::format("{}-{}-{}", process->allocation, process->number, ++process->checkpoints_made);
  process->loop.checkpoint();
  storage[uuid] = {.loop = process->loop, .weights = process->weights, .complete = false};
  const auto report = [this, process, uuid] {
    cluster::CheckpointReported event;
    event.record.uuid = uuid;
    event.record.allocation_id = process->allocation;
    event.record.batches = process->loop.batches_trained;
    const cluster::Event wrapped = event;
    call(
        process, [wrapped](SimMaster& m, Respond respond) { m.report(wrapped, std::move(respond)); },
        [this, process](const Reply&) { step(process); });
  };
  if (mutant == Mutant::CheckpointReportedBeforeUpload) report();
  after(between(5, 500) * kMillisecond, [this, process, uuid, report] {
    if (!process->alive) return;
    storage[uuid].complete = true;
    if (mutant != Mutant::CheckpointReportedBeforeUpload) report();
  });
}

void World::leave(const std::shared_ptr<Process>& process, bool preempted) {
  if (!process->unreported.empty())
    return after(100 * kMillisecond, [this, process, preempted] {
      if (process->alive) leave(process, preempted);
    });
  if (!preempted) {
    // I-14: the weights at the end are those of the undisturbed run.
    if (process->weights != undisturbed(process->seed, process->loop.batches_trained))
      broken("I-14", fmt::format("trial {} ends with other weights than an undisturbed run", process->trial));
    return end_process(process, 0, 0);
  }
  const cluster::Event event =
      cluster::PreemptionAcknowledged{process->allocation, process->can_wait, process->preemption};
  call(
      process, [event](SimMaster& m, Respond respond) { m.report(event, std::move(respond)); },
      [this, process](const Reply&) {
        if (process->can_wait) return wait_where_it_is(process);
        end_process(process, 0, 0);
      });
}

void World::wait_where_it_is(const std::shared_ptr<Process>& process) {
  if (!process->alive) return;
  call(
      process,
      [process](SimMaster& m, Respond respond) {
        m.wish(process->allocation, process->preemption, std::move(respond));
      },
      [this, process](const Reply& reply) {
        if (reply.wait) return after(kSecond, [this, process] { wait_where_it_is(process); });
        if (reply.preempt) return end_process(process, 0, 0);
        note(fmt::format("{} goes on where it is", process->allocation));
        process->preempt = process->loaded = false;
        if (mutant == Mutant::WaitingForgets) process->weights = static_cast<std::uint64_t>(process->seed);
        watch_preemption(process);
        step(process);
      });
}

void World::end_process(const std::shared_ptr<Process>& process, int code, int signal) {
  if (!process->alive) return;
  process->alive = false;
  note(fmt::format("end {} rank {} code {} signal {}", process->allocation, process->rank, code, signal));
  agents.at(process->agent)->process_ended(process, code, signal);
  if (process->rank != 0) return;
  // The other ranks notice that the chief is gone.
  for (const auto& [id, agent] : agents)
    for (const auto& [key, other] : agent->processes())
      if (other->alive && other->allocation == process->allocation)
        after(between(10, 500) * kMillisecond, [this, other = other, code] { end_process(other, code, 0); });
}

}  // namespace det::simulation
