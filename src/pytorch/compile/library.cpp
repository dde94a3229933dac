#include "det/pytorch/compile/library.h"

#include <dlfcn.h>

#include <vector>

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
  return failed_precondition("cannot load the model definition: {}", ::dlerror());
}

Result<TrialClass> find_trial(const std::string& name) {
  const auto& classes = trial_classes();
  std::string known;
  std::vector<const TrialClass*> found;
  for (const auto& one : classes) {
    if (one.name == name) return one;
    if (last_part(one.name) == name || (name.empty() && classes.size() == 1)) found.push_back(&one);
    known += (known.empty() ? "" : ", ") + one.name;
  }
  if (found.size() == 1) return *found[0];
  if (classes.empty())
    return invalid_argument("the model definition has no trial; end it with DET_TRIAL({})",
                            name.empty() ? "YourTrial" : name);
  if (name.empty())
    return invalid_argument("the model definition has several trials; name one of: {}", known);
  if (!found.empty())
    return invalid_argument("the model definition has several trials {}; name one of: {}", name, known);
  return invalid_argument("trial {} is not in the model definition; it has: {}", name, known);
}

}  // namespace det::pytorch
