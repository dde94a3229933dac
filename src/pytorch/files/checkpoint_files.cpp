#include "det/pytorch/files/checkpoint_files.h"

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <set>

#include "det/pytorch/files/state.h"

namespace det::pytorch {

namespace {

constexpr const char* kStateFile = "state-dict.pth";
constexpr const char* kRestFile = "trial-state.pth";
constexpr const char* kOlderStateFile = "state_dict.pth";
constexpr const char* kStateFiles[] = {kStateFile, kOlderStateFile, "determined/state_dict.pth",
                                       "pedl/state_dict.pth", "checkpoint.pt"};
constexpr std::pair<const char*, const char*> kSingular[] = {
    {"models_state_dict", "model_state_dict"},
    {"optimizers_state_dict", "optimizer_state_dict"},
    {"lr_schedulers_state_dict", "lr_scheduler"}};

/// Every parameter once: those of models, then what only optimizers know.
std::vector<at::Tensor> parameters(const TrialContext::Parts& parts) {
  std::vector<at::Tensor> all;
  std::set<void*> seen;
  const auto add = [&](const at::Tensor& parameter) {
    if (seen.insert(parameter.unsafeGetTensorImpl()).second) all.push_back(parameter);
  };
  for (const auto& model : parts.models)
    for (const auto& parameter : model->parameters()) add(parameter);
  for (const auto& optimizer : parts.optimizers)
    for (const auto& group : optimizer->param_groups())
      for (const auto& parameter : group.params()) add(parameter);
  return all;
}

/// The list of a checkpoint with one entry for each of the trial's things.
const List& entries(const Dict& state, const char* key, const char* kind, std::size_t count) {
  const auto& list = state.at(key).list();
  if (list.size() != count)
    throw UsageError(c10::str("the checkpoint has ", list.size(), " ", kind, ", this trial has ", count,
                              "; the numbers must be equal to resume"));
  return list;
}

}  // namespace

CheckpointFiles read_checkpoint(const std::filesystem::path& directory) {
  CheckpointFiles files;
  std::filesystem::path found;
  for (const auto* name : kStateFiles)
    if (found.empty() && std::filesystem::is_regular_file(directory / name)) found = directory / name;
  if (found.empty())
    throw UsageError("checkpoint " + directory.filename().string() + " has no " + kStateFile +
                     "; it is not a checkpoint of a PyTorch trial");
  files.state = load_value(found).dict();
  for (const auto& [plural, singular] : kSingular) {
    if (files.state.contains(plural)) continue;
    const auto* one = files.state.find(singular);
    files.state[plural] = one != nullptr ? List{*one} : List();
  }
  if (!files.state.contains("callbacks")) files.state["callbacks"] = Dict();
  if (std::filesystem::is_regular_file(directory / kRestFile))
    files.rest = load_value(directory / kRestFile).dict();
  return files;
}

void write_checkpoint(const std::filesystem::path& directory, const CheckpointFiles& files) {
  save_value(files.state, directory / kStateFile);
  std::error_code cannot;  // under its older name too, which scripts open
  std::filesystem::create_hard_link(directory / kStateFile, directory / kOlderStateFile, cannot);
  if (cannot) std::filesystem::copy_file(directory / kStateFile, directory / kOlderStateFile);
  save_value(files.rest, directory / kRestFile);
}

Dict user_state(const TrialContext::Parts& parts) {
  List models;
  for (const auto& model : parts.models) models.emplace_back(module_state(*model));
  List optimizers;
  for (const auto& optimizer : parts.optimizers) optimizers.emplace_back(optimizer_state(*optimizer));
  List schedulers;
  for (const auto& wrapped : parts.schedulers) schedulers.emplace_back(scheduler_state(*wrapped.scheduler));
  Dict state;
  state["models_state_dict"] = std::move(models);
  state["optimizers_state_dict"] = std::move(optimizers);
  state["lr_schedulers_state_dict"] = std::move(schedulers);
  return state;
}

void load_models(TrialContext::Parts& parts, const Dict& state) {
  const auto& saved = entries(state, "models_state_dict", "models", parts.models.size());
  for (std::size_t i = 0; i < saved.size(); ++i) load_module_state(*parts.models[i], saved[i].dict());
}

void load_optimizers(TrialContext::Parts& parts, const Dict& state) {
  const auto& optimizers = entries(state, "optimizers_state_dict", "optimizers", parts.optimizers.size());
  for (std::size_t i = 0; i < optimizers.size(); ++i)
    load_optimizer_state(*parts.optimizers[i], optimizers[i].dict());
  const auto& schedulers =
      entries(state, "lr_schedulers_state_dict", "learning rate schedulers", parts.schedulers.size());
  for (std::size_t i = 0; i < schedulers.size(); ++i)
    load_scheduler_state(*parts.schedulers[i].scheduler, schedulers[i].dict());
}

List gradients(const TrialContext::Parts& parts) {
  List all;
  for (const auto& parameter : parameters(parts)) {
    const auto& gradient = parameter.grad();
    all.push_back(gradient.defined() ? Value(gradient.detach()) : Value());
  }
  return all;
}

List mean_gradients(const std::vector<const List*>& of_ranks) {
  List means;
  for (std::size_t i = 0; i < of_ranks.front()->size(); ++i) {
    at::Tensor sum;
    for (const auto* list : of_ranks)
      if (const auto& gradient = list->at(i); !gradient.is_none())
        sum = sum.defined() ? sum + gradient.tensor() : gradient.tensor().clone();
    means.push_back(sum.defined() ? Value(sum / static_cast<double>(of_ranks.size())) : Value());
  }
  return means;
}

void load_gradients(TrialContext::Parts& parts, const Dict& rest) {
  const auto* saved = rest.find("gradients");
  if (saved == nullptr) return;
  const auto own = parameters(parts);
  const auto& list = saved->list();
  if (list.size() != own.size())
    throw UsageError(c10::str("the checkpoint has gradients of ", list.size(), " parameters, this trial has ",
                              own.size()));
  for (std::size_t i = 0; i < own.size(); ++i)
    // A copy: what is read is a view of its storage, and zero_grad() refuses views.
    if (!list[i].is_none())
      own[i].mutable_grad() = list[i].tensor().to(own[i].device(), false, /*copy=*/true);
}

Dict to_dict(const SavedLoop& loop) {
  Dict state;
  state["batches_trained"] = loop.batches_trained;
  state["batches_validated"] = loop.batches_validated;
  state["batches_checkpointed"] = loop.batches_checkpointed;
  state["operations_done"] = loop.operations_done;
  state["best"] = loop.best ? Value(*loop.best) : Value();
  state["validation_is_best"] = loop.validation_is_best;
  Dict saved;
  saved["state"] = std::move(state);
  saved["searcher_metric"] = loop.searcher_metric ? Value(*loop.searcher_metric) : Value();
  return saved;
}

SavedLoop loop_from(const Dict& saved) {
  const auto& state = saved.at("state").dict();
  SavedLoop loop;
  loop.batches_trained = state.at("batches_trained").integer();
  loop.batches_validated = state.at("batches_validated").integer();
  loop.batches_checkpointed = state.at("batches_checkpointed").integer();
  loop.operations_done = state.at("operations_done").integer();
  if (!state.at("best").is_none()) loop.best = state.at("best").number();
  loop.validation_is_best = state.at("validation_is_best").boolean();
  if (!saved.at("searcher_metric").is_none()) loop.searcher_metric = saved.at("searcher_metric").number();
  return loop;
}

}  // namespace det::pytorch
