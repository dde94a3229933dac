#include "det/pytorch/trial.h"
#include "det/pytorch/trial_classes.h"

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

}  // namespace det::pytorch
