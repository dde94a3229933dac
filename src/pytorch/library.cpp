#include "det/pytorch/library.h"

#include <dlfcn.h>

namespace det::pytorch {

namespace {

/// "pong::PolicyTrial" is entered as PolicyTrial.
std::string last_part(const std::string& name) {
  const auto colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

}  // namespace

Result<void> load_library(const std::filesystem::path& library) {
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return {};
  return failed_precondition("the model definition cannot be loaded: {}", ::dlerror());
}

Result<TrialClass> find_trial(const std::string& name) {
  const auto& classes = trial_classes();
  std::string known;
  for (const auto& one : classes) {
    if (one.name == name || last_part(one.name) == name || (name.empty() && classes.size() == 1)) return one;
    known += (known.empty() ? "" : ", ") + last_part(one.name);
  }
  if (classes.empty())
    return invalid_argument("the model definition has no trial; end it with DET_TRIAL({})",
                            name.empty() ? "YourTrial" : name);
  if (name.empty()) return invalid_argument("there are several trials; name one of: {}", known);
  return invalid_argument("there is no trial {} in the model definition; it has: {}", name, known);
}

}  // namespace det::pytorch
