#include <torch/optim.h>
#include <torch/serialize.h>

#include <sstream>

#include "det/pytorch/files/state.h"
#include "det/pytorch/optimizers.h"

namespace det::pytorch {

namespace {

using torch::optim::Optimizer;

// Each kind says how a group's options and a parameter's state are spelled in Python. `Visitor` reads or
// writes.

class Save {
 public:
  template <typename T>
  void operator()(const char* name, T& value) {
    if constexpr (std::is_floating_point_v<T>)
      dict[name] = static_cast<double>(value);
    else
      dict[name] = value;
  }
  void betas(std::tuple<double, double>& value) {
    dict["betas"] = List{std::get<0>(value), std::get<1>(value)};
  }
  void tensor(const char* name, at::Tensor& value) {
    if (value.defined()) dict[name] = value;
  }
  void step(std::int64_t& value) { dict["step"] = at::scalar_tensor(static_cast<double>(value), at::kFloat); }
  void fixed(const char* name, Value value) { dict[name] = std::move(value); }

  Dict dict;
};

class Load {
 public:
  explicit Load(const Dict& from) : dict(from) {}
  void operator()(const char* name, bool& value) {
    if (const auto* saved = dict.find(name)) value = saved->boolean();
  }
  void operator()(const char* name, double& value) { value = dict.at(name).number(); }
  void betas(std::tuple<double, double>& value) {
    const auto& pair = dict.at("betas").list();
    if (pair.size() == 2) value = {pair[0].number(), pair[1].number()};
  }
  void tensor(const char* name, at::Tensor& value) {
    if (const auto* saved = dict.find(name); saved != nullptr && !saved->is_none())
      value = saved->tensor().clone();
  }
  void step(std::int64_t& value) { value = dict.at("step").integer(); }

  const Dict& dict;
};

/// What Python's classes have beside, at its default.
void defaults_of_python(Save& saved, const Optimizer& optimizer) {
  for (const char* name : {"maximize", "capturable", "differentiable"}) saved.fixed(name, false);
  const auto* own = dynamic_cast<const HasKernel*>(&optimizer);
  const auto kernel = own != nullptr ? own->kernel() : Kernel::DEFAULT;
  const auto says = [&](const char* name, Kernel meant) {
    saved.fixed(name, kernel == Kernel::DEFAULT ? Value() : Value(kernel == meant));
  };
  says("foreach", Kernel::FOREACH);
  says("fused", Kernel::FUSED);
}

template <typename Visitor>
void options(Visitor& visit, torch::optim::SGDOptions& o) {
  visit("lr", o.lr());
  visit("momentum", o.momentum());
  visit("dampening", o.dampening());
  visit("weight_decay", o.weight_decay());
  visit("nesterov", o.nesterov());
}
template <typename Visitor>
void state(Visitor& visit, torch::optim::SGDParamState& s) {
  visit.tensor("momentum_buffer", s.momentum_buffer());
}
template <typename Visitor, typename Options>
void adam_options(Visitor& visit, Options& o) {
  visit("lr", o.lr());
  visit.betas(o.betas());
  visit("eps", o.eps());
  visit("weight_decay", o.weight_decay());
  visit("amsgrad", o.amsgrad());
}
template <typename Visitor>
void options(Visitor& visit, torch::optim::AdamOptions& o) {
  adam_options(visit, o);
}
template <typename Visitor>
void options(Visitor& visit, torch::optim::AdamWOptions& o) {
  adam_options(visit, o);
}
template <typename Visitor, typename State>
void adam_state(Visitor& visit, State& s) {
  std::int64_t step = s.step();
  visit.step(step);
  s.step(step);
  visit.tensor("exp_avg", s.exp_avg());
  visit.tensor("exp_avg_sq", s.exp_avg_sq());
  visit.tensor("max_exp_avg_sq", s.max_exp_avg_sq());
}
template <typename Visitor>
void state(Visitor& visit, torch::optim::AdamParamState& s) {
  adam_state(visit, s);
}
template <typename Visitor>
void state(Visitor& visit, torch::optim::AdamWParamState& s) {
  adam_state(visit, s);
}
template <typename Visitor>
void options(Visitor& visit, torch::optim::RMSpropOptions& o) {
  visit("lr", o.lr());
  visit("momentum", o.momentum());
  visit("alpha", o.alpha());
  visit("eps", o.eps());
  visit("centered", o.centered());
  visit("weight_decay", o.weight_decay());
}
template <typename Visitor>
void state(Visitor& visit, torch::optim::RMSpropParamState& s) {
  std::int64_t step = s.step();
  visit.step(step);
  s.step(step);
  visit.tensor("square_avg", s.square_avg());
  visit.tensor("momentum_buffer", s.momentum_buffer());
  visit.tensor("grad_avg", s.grad_avg());
}
template <typename Visitor>
void options(Visitor& visit, torch::optim::AdagradOptions& o) {
  visit("lr", o.lr());
  visit("lr_decay", o.lr_decay());
  visit("eps", o.eps());
  visit("weight_decay", o.weight_decay());
  visit("initial_accumulator_value", o.initial_accumulator_value());
}
template <typename Visitor>
void state(Visitor& visit, torch::optim::AdagradParamState& s) {
  std::int64_t step = s.step();
  visit.step(step);
  s.step(step);
  visit.tensor("sum", s.sum());
}

template <typename Options, typename State>
Dict save_as(Optimizer& optimizer) {
  Dict states;
  List groups;
  std::int64_t index = 0;
  for (auto& group : optimizer.param_groups()) {
    Save saved;
    options(saved, static_cast<Options&>(group.options()));
    defaults_of_python(saved, optimizer);
    List indices;
    for (const auto& parameter : group.params()) {
      const auto found = optimizer.state().find(parameter.unsafeGetTensorImpl());
      if (found != optimizer.state().end()) {
        Save own;
        state(own, static_cast<State&>(*found->second));
        states[index] = std::move(own.dict);
      }
      indices.emplace_back(index++);
    }
    saved.dict["params"] = std::move(indices);
    groups.emplace_back(std::move(saved.dict));
  }
  Dict all;
  all["state"] = std::move(states);
  all["param_groups"] = std::move(groups);
  return all;
}

template <typename Options, typename State>
void load_as(Optimizer& optimizer, const Dict& saved) {
  const auto& groups = saved.at("param_groups").list();
  const auto& states = saved.at("state").dict();
  if (groups.size() != optimizer.param_groups().size())
    throw UsageError(c10::str("the saved optimizer has ", groups.size(), " parameter groups; this one has ",
                              optimizer.param_groups().size()));
  std::int64_t index = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    auto& group = optimizer.param_groups()[i];
    if (const auto count = groups[i].dict().at("params").list().size(); count != group.params().size())
      throw UsageError(c10::str("group ", i, " of the saved optimizer has ", count,
                                " parameters; this one has ", group.params().size()));
    Load read(groups[i].dict());
    options(read, static_cast<Options&>(group.options()));
    for (const auto& parameter : group.params()) {
      if (const auto* own = states.find(index++)) {
        auto fresh = std::make_unique<State>();
        Load read_state(own->dict());
        state(read_state, *fresh);
        optimizer.state()[parameter.unsafeGetTensorImpl()] = std::move(fresh);
      }
    }
  }
}

/// Calls `use.template operator()<Options, State>()` for the optimizer's kind; false for an unknown one.
template <typename Use>
bool for_kind(Optimizer& optimizer, const Use& use) {
  namespace optim = torch::optim;  // SGD, Adam and AdamW of ours are of these classes, too
  if (dynamic_cast<optim::SGD*>(&optimizer) != nullptr)
    use.template operator()<optim::SGDOptions, optim::SGDParamState>();
  else if (dynamic_cast<optim::Adam*>(&optimizer) != nullptr)
    use.template operator()<optim::AdamOptions, optim::AdamParamState>();
  else if (dynamic_cast<optim::AdamW*>(&optimizer) != nullptr)
    use.template operator()<optim::AdamWOptions, optim::AdamWParamState>();
  else if (dynamic_cast<optim::RMSprop*>(&optimizer) != nullptr)
    use.template operator()<optim::RMSpropOptions, optim::RMSpropParamState>();
  else if (dynamic_cast<optim::Adagrad*>(&optimizer) != nullptr)
    use.template operator()<optim::AdagradOptions, optim::AdagradParamState>();
  else
    return false;
  return true;
}

Dict save_bytes(Optimizer& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  std::ostringstream stream;
  archive.save_to(stream);
  const auto bytes = stream.str();
  auto tensor = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(tensor.mutable_data_ptr<std::uint8_t>()));
  Dict dict;
  dict["libtorch"] = tensor;
  return dict;
}

void load_bytes(Optimizer& optimizer, const Dict& saved) {
  const auto bytes = saved.at("libtorch").tensor().contiguous();
  std::istringstream stream(std::string(reinterpret_cast<const char*>(bytes.const_data_ptr<std::uint8_t>()),
                                        static_cast<std::size_t>(bytes.numel())));
  torch::serialize::InputArchive archive;
  archive.load_from(stream);
  optimizer.load(archive);
}

}  // namespace

Dict optimizer_state(Optimizer& optimizer) {
  Dict saved;
  const auto save = [&]<typename Options, typename State>() { saved = save_as<Options, State>(optimizer); };
  return for_kind(optimizer, save) ? saved : save_bytes(optimizer);
}

void load_optimizer_state(Optimizer& optimizer, const Dict& saved) {
  const torch::NoGradGuard no_grad;
  const auto load = [&]<typename Options, typename State>() { load_as<Options, State>(optimizer, saved); };
  if (saved.contains("libtorch"))
    load_bytes(optimizer, saved);
  else if (!for_kind(optimizer, load))
    throw UsageError(
        "the saved optimizer is from Python, and the optimizer of this trial has no Python counterpart");
}

}  // namespace det::pytorch
