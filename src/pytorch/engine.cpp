#include "det/pytorch/engine.h"

#include <dlfcn.h>
#include <torch/torch.h>
#include <unistd.h>

#include "det/pytorch/checkpoint_files.h"
#include "det/pytorch/collector.h"
#include "det/pytorch/context_parts.h"
#include "det/pytorch/exchange.h"
#include "det/pytorch/random.h"
#include "det/pytorch/trial.h"
#include "det/pytorch/watch.h"

namespace det::pytorch {

namespace {

std::vector<TrialClass>& registered() {
  static std::vector<TrialClass> classes;
  return classes;
}

}  // namespace

Registration::Registration(const char* name, MakeTrial make) : name_(name) {
  registered().push_back({name, make});
}

Registration::~Registration() {
  std::erase_if(registered(), [this](const TrialClass& known) { return known.name == name_; });
}

const std::vector<TrialClass>& trial_classes() {
  return registered();
}

void load_cuda();

void warm_up() {
  load_cuda();  // a fork could not: what has looked for it once never looks again
  at::set_num_threads(1);
  const torch::NoGradGuard no_grad;
  torch::nn::Sequential model(torch::nn::Conv2d(1, 2, 3), torch::nn::BatchNorm2d(2), torch::nn::Flatten(),
                              torch::nn::Linear(8, 2));
  const auto output = model->forward(torch::zeros({2, 1, 4, 4}));
  torch::cross_entropy_loss(output, torch::zeros({2}, torch::kLong));
}

const char* torch_version() {
  return TORCH_VERSION;
}

std::filesystem::path torch_directory() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&at::globalContext), &info);
  return std::filesystem::canonical(info.dli_fname).parent_path().parent_path();
}

/// The CUDA half of LibTorch, where there is a GPU: nothing links it, and it must be there before the first
/// question for a GPU, whose answer is kept.
void load_cuda() {
  if (::access("/dev/nvidiactl", F_OK) != 0) return;
  const auto library = torch_directory() / "lib/libtorch_cuda.so";
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr)
    std::fprintf(stderr, "there is a GPU, but %s cannot be loaded: %s\n", library.c_str(), ::dlerror());
}

struct Engine::Parts {
  Parts(Environment environment, Ranks* given)
      : context(std::move(environment), given), own(context.parts()), ranks(given) {}

  template <typename Hook, typename... Arguments>
  void call(Hook hook, Arguments&&... arguments) {
    for (auto& [name, callback] : callbacks) ((*callback).*hook)(arguments...);
  }
  /// Around what computes a batch.
  std::optional<Autocast> precision() const {
    return own.amp ? std::optional<Autocast>(std::in_place, own.device) : std::nullopt;
  }
  bool on_gpu() const { return !own.device.is_cpu(); }

  void train_batches(std::int64_t count, Collector& collector);
  void evaluate_batches(Numbers& metrics);
  std::optional<Numbers> evaluate_whole();
  Dict of_this_rank(const Dict& rest) const;
  Dict own_state();
  void note(const std::string& doing) {
    if (ranks != nullptr) ranks->watch().note(doing);
  }
  void reset_reducers() {
    for (auto& wrapped : own.reducers) wrapped.reducer->reset();
  }
  void reduce_own(bool training, Numbers& metrics);

  TrialContext context;
  TrialContext::Parts& own;
  Ranks* ranks;
  std::unique_ptr<TrialBase> trial;
  Callbacks callbacks;
  std::int64_t trained = 0;
  std::int64_t workloads = 0;
  bool feeding = false;
  bool started = false;
  bool any_stops = false;
};

void Engine::prepare_process(const Environment& environment) {
  if (environment.use_gpu) load_cuda();
  at::set_num_threads(environment.threads);
  // Two runs with one seed give the same numbers wherever PyTorch knows how; where it does not, it warns
  // once.
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  seed_all(environment.trial_seed);
}

Engine::Engine(MakeTrial make, Environment environment, Ranks* ranks)
    : parts_(std::make_unique<Parts>(std::move(environment), ranks)) {
  parts_->trial = make(parts_->context);
  parts_->callbacks = parts_->trial->build_callbacks();
}

Engine::~Engine() = default;

std::optional<SavedLoop> Engine::start(const std::optional<std::filesystem::path>& checkpoint,
                                       const std::string& uuid, bool weights_only) {
  auto& p = *parts_;
  CheckpointFiles files;
  if (checkpoint) files = read_checkpoint(*checkpoint);
  std::optional<SavedLoop> loop;
  if (!weights_only && files.rest.contains("loop")) loop = loop_from(files.rest.at("loop").dict());
  p.trained = loop ? loop->batches_trained : 0;
  p.workloads = loop ? files.rest.at("workloads").integer() : 0;
  p.own.initial_batch = p.trained;
  p.call(&Callback::on_trial_startup, p.trained, uuid);
  p.started = true;

  const Share share{.seed = p.own.environment.trial_seed,
                    .replicas = p.own.environment.size,
                    .rank = p.own.environment.rank,
                    .training = true};
  p.own.epoch_length = p.trial->open_training(share);
  if (p.own.epoch_length < 1) throw UsageError("the training data has fewer batches than there are slots");
  auto validation = share;
  validation.training = false;
  p.trial->open_validation(validation);

  if (checkpoint) {
    p.call(&Callback::on_checkpoint_load_start, files.state);
    load_models(p.own, files.state);
    if (!weights_only) {
      const auto rest = p.of_this_rank(files.rest);
      load_optimizers(p.own, files.state);
      if (p.own.scaler && rest.contains("scaler_state_dict"))
        p.own.scaler->load_state_dict(rest.at("scaler_state_dict").dict());
      load_gradients(p.own, rest);
      const auto& states =
          rest.contains("callbacks") ? rest.at("callbacks").dict() : files.state.at("callbacks").dict();
      for (auto& [name, callback] : p.callbacks)
        if (const auto* saved = states.find(name)) callback->load_state_dict(*saved);
    }
  }
  if (p.ranks != nullptr) equalise(p.own.models, *p.ranks);
  p.call(&Callback::on_training_start);
  if (!weights_only && files.rest.contains("rng_state"))
    restore_random_state(p.of_this_rank(files.rest).at("rng_state").dict(), p.on_gpu());
  return loop;
}

/// What the checkpoint holds for this rank alone; for a rank that it does not know, what it holds for rank 0.
Dict Engine::Parts::of_this_rank(const Dict& rest) const {
  const auto* others = rest.find("other_ranks");
  const auto count = others != nullptr ? static_cast<std::int64_t>(others->list().size()) : 0;
  const auto& e = own.environment;
  if (e.rank == 0 || count + 1 != e.size) return rest;
  Dict mine = rest;
  for (const auto& [key, value] : others->list()[static_cast<std::size_t>(e.rank - 1)].dict().entries())
    mine[key] = value;
  return mine;
}

/// What a checkpoint holds for each rank.
Dict Engine::Parts::own_state() {
  Dict mine;
  mine["rng_state"] = random_state(on_gpu());
  mine["gradients"] = gradients(own);
  Dict states;
  for (auto& [name, callback] : callbacks) states[name] = callback->state_dict();
  mine["callbacks"] = std::move(states);
  return mine;
}

Trained Engine::train(std::int64_t batches) {
  auto& p = *parts_;
  ++p.workloads;
  p.note(c10::str("training the batches ", p.trained, " to ", p.trained + batches - 1));
  p.reset_reducers();
  for (auto& model : p.own.models) model->train();
  Collector collector("train_batch");
  {
    const torch::AutoGradMode enabled(true);
    p.train_batches(batches, collector);
  }
  collector.finish();
  if (p.ranks != nullptr && p.own.environment.average_training_metrics)
    collector.set_rows(mean_over_ranks(collector, *p.ranks));
  Trained done{.averages = collector.averages(), .names = collector.names(), .batches = collector.rows()};
  p.reduce_own(true, done.averages);
  p.call(&Callback::on_training_workload_end, done.averages, done.batches);
  return done;
}

void Engine::Parts::train_batches(std::int64_t count, Collector& collector) {
  if (!feeding) trial->start_training(trained);
  feeding = true;
  const auto length = own.epoch_length;
  const auto aggregation = own.environment.aggregation_frequency;
  const auto end = trained + count;
  for (std::int64_t index = trained; index < end; ++index) {
    const auto epoch = index / length;
    const bool first = index % length == 0;
    own.batch_index = index;
    if (ranks != nullptr) {
      if (!own.exchanges.empty()) own.spread_buffers();
      for (const auto& exchange : own.exchanges) exchange->begin_batch(context.is_update_batch());
    }
    if (first && !callbacks.empty()) call(&Callback::on_training_epoch_start, epoch);
    const auto metrics = [&] {
      const auto mixed = precision();
      return trial->train_next(epoch, index);
    }();
    if (own.scales && context.is_update_batch()) own.scaler->update();
    if (!own.schedulers.empty() && context.is_update_batch())
      for (auto& wrapped : own.schedulers)
        for (auto due = steps_due(wrapped.step_mode, wrapped.frequency, index, aggregation, length); due > 0;
             --due)
          wrapped.scheduler->step();
    collector.add(metrics, index);
    if (index % length == length - 1 && !callbacks.empty()) call(&Callback::on_training_epoch_end, epoch);
    trained = index + 1;
  }
}

Numbers Engine::validate() {
  auto& p = *parts_;
  p.note(c10::str("validating after batch ", p.trained));
  const Untouched untouched(p.on_gpu());
  p.reset_reducers();
  p.own.spread_buffers();
  for (auto& model : p.own.models) model->eval();
  p.call(&Callback::on_validation_start);
  Numbers metrics;
  {
    const torch::NoGradGuard no_grad;
    const auto mixed = p.precision();
    if (auto whole = p.evaluate_whole())
      metrics = *std::move(whole);
    else
      p.evaluate_batches(metrics);
  }
  p.reduce_own(false, metrics);
  p.call(&Callback::on_validation_end, metrics);
  return metrics;
}

void Engine::Parts::evaluate_batches(Numbers& metrics) {
  call(&Callback::on_validation_epoch_start);
  Collector collector("evaluate_batch");
  trial->start_validation(false);
  for (std::int64_t batch = 0; const auto result = trial->validate_next(batch); ++batch) {
    collector.add(*result, batch);
    if (own.environment.test_mode) break;
  }
  collector.finish();
  if (!callbacks.empty()) {
    std::vector<Numbers> rows;
    for (const auto& row : collector.rows()) {
      auto& named = rows.emplace_back();
      for (std::size_t i = 0; i < row.size(); ++i) named.emplace_back(collector.names()[i], row[i]);
    }
    call(&Callback::on_validation_epoch_end, rows);
  }
  const auto choice = trial->evaluation_reducer();
  const auto* by_name = std::get_if<std::map<std::string, Reducer>>(&choice);
  if (by_name != nullptr && by_name->size() != collector.names().size())
    throw UsageError(c10::str("evaluation_reducer() names ", by_name->size(),
                              " metrics; evaluate_batch returns ", collector.names().size(),
                              ", and each needs its reducer"));
  if (ranks != nullptr && collector.rows().empty())
    throw UsageError(
        c10::str("rank ", own.environment.rank, " has no validation batches; must have at least one"));
  std::vector<Reducer> reducers;
  for (const auto& name : collector.names()) {
    if (by_name != nullptr && !by_name->contains(name))
      throw UsageError("evaluation_reducer() has no reducer for the metric " + name);
    reducers.push_back(by_name != nullptr ? by_name->at(name) : std::get<Reducer>(choice));
  }
  for (std::size_t i = 0; i < reducers.size(); ++i)
    metrics.emplace_back(collector.names()[i], reduce(reducers[i], collector.column(i)));
  if (ranks != nullptr)
    metrics =
        reduce_over_ranks(metrics, reducers, static_cast<std::int64_t>(collector.rows().size()), *ranks);
}

/// Nothing where the trial evaluates batches. Of several ranks the first alone evaluates the whole set.
std::optional<Numbers> Engine::Parts::evaluate_whole() {
  std::optional<Numbers> metrics;
  if (own.environment.rank == 0) {
    trial->start_validation(true);
    if (const auto result = trial->validate_whole()) {
      Collector collector("evaluate_full_dataset");
      collector.add(*result, 0);
      collector.finish();
      metrics = collector.averages();
    }
  }
  return ranks != nullptr ? announce(metrics, *ranks) : metrics;
}

void Engine::Parts::reduce_own(bool training, Numbers& metrics) {
  std::vector<const WrappedReducer*> chosen;
  for (const auto& wrapped : own.reducers)
    if (training ? wrapped.for_training : wrapped.for_validation) chosen.push_back(&wrapped);
  if (chosen.empty()) return;
  std::vector<std::vector<std::vector<double>>> by_reducer;
  for (const auto* wrapped : chosen) by_reducer.push_back({wrapped->reducer->per_slot_reduce()});
  if (ranks != nullptr) gather_slots(by_reducer, *ranks);
  for (std::size_t i = 0; i < chosen.size(); ++i)
    metrics.emplace_back(chosen[i]->name, chosen[i]->reducer->cross_slot_reduce(by_reducer[i]));
}

void Engine::save(const std::filesystem::path& directory, const SavedLoop& loop,
                  const std::function<void()>& describe) {
  auto& p = *parts_;
  const Untouched untouched(p.on_gpu());
  p.note(c10::str("saving after batch ", p.trained));
  CheckpointFiles files;
  files.rest["format"] = 1;
  files.rest["loop"] = to_dict(loop);
  files.rest["workloads"] = p.workloads;
  auto mine = p.own_state();
  for (const char* name : {"rng_state", "gradients"}) files.rest[name] = mine.at(name);
  if (p.own.scaler) files.rest["scaler_state_dict"] = p.own.scaler->state_dict();
  if (p.ranks != nullptr) files.rest["other_ranks"] = gather_states(p.own, Dict(), *p.ranks);
  files.state = user_state(p.own);
  files.state["callbacks"] = mine.at("callbacks");
  p.call(&Callback::on_checkpoint_save_start, files.state);
  write_checkpoint(directory, files);
  describe();
  p.call(&Callback::on_checkpoint_write_end, directory);
}

void Engine::contribute() {
  auto& p = *parts_;
  p.note(c10::str("saving after batch ", p.trained));
  const Untouched untouched(p.on_gpu());
  gather_states(p.own, p.own_state(), *p.ranks);
}

void Engine::stored(const std::string& uuid) {
  const Untouched untouched(parts_->on_gpu());
  parts_->call(&Callback::on_checkpoint_upload_end, uuid);
}

void Engine::close() {
  auto& p = *parts_;
  p.trial->close_training();  // ends the loader's threads
  if (!p.started) return;
  p.started = false;
  p.call(&Callback::on_trial_shutdown);
}

bool Engine::stop_requested() const {
  return parts_->any_stops || parts_->context.get_stop_requested();
}

void Engine::ask_whether_any_stops() {
  auto& p = *parts_;
  if (p.ranks == nullptr) return;
  for (const auto& answer :
       p.ranks->allgather(p.context.get_stop_requested() ? "1" : "0", "the question who stops"))
    if (answer == "1") p.any_stops = true;
}

}  // namespace det::pytorch
