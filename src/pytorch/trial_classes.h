#pragma once

#include <memory>
#include <string>
#include <vector>

namespace det::pytorch {

class TrialBase;
class TrialContext;
using MakeTrial = std::unique_ptr<TrialBase> (*)(TrialContext&);

/// The trial classes of this program and of what it has loaded, in the order of registration.
struct TrialClass {
  std::string name;
  MakeTrial make = nullptr;
};
const std::vector<TrialClass>& trial_classes();

}  // namespace det::pytorch
