#include <torch/nn/module.h>

#include "det/pytorch/files/state.h"

namespace det::pytorch {

namespace {

/// Calls `use(name, tensor)` in the order of Python's state_dict: own parameters, own buffers, then children.
template <typename Use>
void for_each_tensor(const torch::nn::Module& module, const std::string& prefix, const Use& use) {
  for (const auto& parameter : module.named_parameters(/*recurse=*/false))
    if (parameter.value().defined()) use(prefix + parameter.key(), parameter.value());
  for (const auto& buffer : module.named_buffers(/*recurse=*/false))
    if (buffer.value().defined()) use(prefix + buffer.key(), buffer.value());
  for (const auto& child : module.named_children())
    for_each_tensor(*child.value(), prefix + child.key() + ".", use);
}

void list(std::string& text, const char* what, const std::string& names) {
  if (!names.empty()) text += (text.empty() ? "" : "; ") + std::string(what) + ": " + names;
}

}  // namespace

Dict module_state(const torch::nn::Module& module) {
  Dict state;
  state.ordered = true;
  for_each_tensor(module, "",
                  [&](const std::string& name, const at::Tensor& tensor) { state[name] = tensor.detach(); });
  return state;
}

void load_module_state(torch::nn::Module& module, const Dict& state) {
  const torch::NoGradGuard no_grad;
  std::string missing;
  std::string shapes;
  std::size_t known = 0;
  for_each_tensor(module, "", [&](const std::string& name, const at::Tensor& tensor) {
    const auto* saved = state.find(name);
    if (saved == nullptr) {
      missing += (missing.empty() ? "" : ", ") + name;
    } else if (++known; saved->tensor().sizes() != tensor.sizes()) {
      shapes += c10::str(shapes.empty() ? "" : ", ", name, " is ", saved->tensor().sizes(), ", expected ",
                         tensor.sizes());
    }
  });
  std::string unexpected;
  if (known != state.size()) {
    const auto own = module_state(module);
    for (const auto& [key, value] : state.entries())
      if (!own.contains(key)) unexpected += (unexpected.empty() ? "" : ", ") + std::get<std::string>(key);
  }
  std::string text;
  list(text, "missing", missing);
  list(text, "not in this model", unexpected);
  list(text, "with another shape", shapes);
  if (!text.empty()) throw UsageError("the saved weights do not fit this model; " + text);
  for_each_tensor(module, "", [&](const std::string& name, const at::Tensor& tensor) {
    at::Tensor(tensor).copy_(state.at(name).tensor());
  });
}

}  // namespace det::pytorch
