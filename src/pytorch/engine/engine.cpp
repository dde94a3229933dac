#include "det/pytorch/engine/engine.h"

#include <torch/torch.h>

#include <algorithm>
#include <charconv>

#include "det/pytorch/engine/engine_parts.h"
#include "det/pytorch/engine/random.h"
#include "det/pytorch/files/checkpoint_files.h"

namespace det::pytorch {

namespace {

std::optional<SequencePosition> saved_position(const Dict& rest) {
  const auto* data = rest.find("data");
  if (data == nullptr) return std::nullopt;
  return SequencePosition{.position = data->dict().at("position").integer(),
                          .epoch_batches = data->dict().at("epoch_batches").integer(),
                          .batch_size = data->dict().at("batch_size").integer()};
}

}  // namespace

Engine::Engine(MakeTrial make, Environment environment, Ranks* ranks)
    : parts_(std::make_unique<Parts>(std::move(environment), ranks)) {
  parts_->trial = make(parts_->context);
  parts_->callbacks = parts_->trial->build_callbacks();
}

Engine::~Engine() = default;

std::optional<SavedLoop> Engine::start(const std::optional<std::filesystem::path>& checkpoint,
                                       const std::string& uuid, bool weights_only) {
  auto& p = *parts_;
  if (p.own.models.empty() && p.callbacks.empty())
    throw UsageError(
        "the trial has no model and no callbacks, so its checkpoints would be empty; call "
        "context.wrap_model() "
        "in its constructor");
  CheckpointFiles files;
  if (checkpoint) files = read_checkpoint(*checkpoint);
  std::optional<SavedLoop> loop;
  if (!weights_only && files.rest.contains("loop")) {
    loop = loop_from(files.rest.at("loop").dict());
    const auto* others = files.rest.find("other_ranks");
    loop->slots = others != nullptr ? static_cast<std::int64_t>(others->list().size()) + 1 : 1;
  }
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
  if (p.own.epoch_length < 1)
    throw UsageError(
        "the training data has fewer batches than the trial has slots; use more data or fewer slots");
  p.own.chiefs_epoch_length = p.own.epoch_length;
  if (p.ranks != nullptr)
    p.own.chiefs_epoch_length =
        std::stoll(p.ranks->broadcast(std::to_string(p.own.epoch_length), "the length of an epoch"));
  p.trial->start_training(p.trained, loop ? saved_position(files.rest) : std::nullopt);
  p.own.epoch_ahead = p.trial->training_order().epochs_ahead(p.own.epoch_length);
  p.own.chiefs_epoch_ahead = p.trial->training_order().epochs_ahead(p.own.chiefs_epoch_length);
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
/// With another number of ranks, each has the mean of all gradients, so that what they come to together
/// stays.
Dict Engine::Parts::of_this_rank(const Dict& rest) const {
  const auto* others = rest.find("other_ranks");
  const auto count = others != nullptr ? static_cast<std::int64_t>(others->list().size()) : 0;
  const auto& e = own.environment;
  Dict mine = rest;
  if (e.rank > 0 && e.rank <= count)
    for (const auto& [key, value] : others->list()[static_cast<std::size_t>(e.rank - 1)].dict().entries())
      mine[key] = value;
  if (count + 1 == e.size || count == 0 || !rest.contains("gradients")) return mine;
  std::vector<const List*> of_all = {&rest.at("gradients").list()};
  for (const auto& other : others->list()) of_all.push_back(&other.dict().at("gradients").list());
  mine["gradients"] = mean_gradients(of_all);
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

void Engine::collect(const SavedLoop& loop) {
  auto& p = *parts_;
  const Untouched untouched(p.on_gpu());
  p.note(c10::str("saving after batch ", p.trained));
  auto& files = p.files;
  files = {};
  files.rest["format"] = 1;
  files.rest["loop"] = to_dict(loop);
  files.rest["workloads"] = p.workloads;
  const auto at = p.trial->training_order().sequence_position(p.trained);
  Dict data;
  data["position"] = at.position;
  data["replicas"] = p.own.environment.size;
  data["epoch_batches"] = at.epoch_batches;
  data["batch_size"] = at.batch_size;
  files.rest["data"] = std::move(data);
  auto mine = p.own_state();
  for (const char* name : {"rng_state", "gradients"}) files.rest[name] = mine.at(name);
  if (p.own.scaler) files.rest["scaler_state_dict"] = p.own.scaler->state_dict();
  if (p.ranks != nullptr) files.rest["other_ranks"] = gather_states(p.own, Dict(), *p.ranks);
  files.state = user_state(p.own);
  files.state["callbacks"] = mine.at("callbacks");
  p.call(&Callback::on_checkpoint_save_start, files.state);
}

void Engine::write(const std::filesystem::path& directory, const std::function<void()>& describe) {
  auto& p = *parts_;
  const Untouched untouched(p.on_gpu());
  write_checkpoint(directory, std::exchange(p.files, {}));
  describe();
  p.call(&Callback::on_checkpoint_write_end, directory);
}

std::function<void(const std::filesystem::path&)> Engine::staged(std::optional<std::int64_t> free) {
  auto& p = *parts_;
  auto copies = p.stage.copy_of({p.files.state, p.files.rest}, free);
  if (!copies) return {};
  p.files = {};
  return [state = (*copies)[0].dict(), rest = (*copies)[1].dict()](const std::filesystem::path& directory) {
    write_checkpoint(directory, {.state = state, .rest = rest});
  };
}

bool Engine::saves_in_background() const {
  return std::ranges::all_of(parts_->callbacks,
                             [](const auto& entry) { return entry.second->leaves_checkpoints_alone(); });
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

void Engine::close_after_failure() noexcept {
  try {
    close();
  } catch (...) {
  }
}

bool Engine::stop_requested() const {
  return parts_->any_stops || parts_->context.get_stop_requested();
}

std::int64_t Engine::records() const {
  return parts_->records;
}

void Engine::ask_all_ranks() {
  auto& p = *parts_;
  if (p.ranks == nullptr) return;
  const auto stops = p.context.get_stop_requested();
  const auto answers =
      p.ranks->allgather((stops ? "1 " : "0 ") + std::to_string(p.records), "the question who stops");
  p.records = 0;
  for (const auto& answer : answers) {
    std::int64_t records = 0;
    std::from_chars(answer.data() + std::min<std::size_t>(2, answer.size()), answer.data() + answer.size(),
                    records);
    p.records += records;
    if (answer.starts_with('1')) p.any_stops = true;
  }
}

}  // namespace det::pytorch
