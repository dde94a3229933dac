#include "det/search/search_method.h"

#include <map>

#include "det/search/halving/adaptive.h"
#include "det/search/methods/custom.h"
#include "det/search/methods/population_based.h"
#include "det/search/methods/whole_trials.h"

namespace det::search {

Operations SearchMethod::trial_created(const RequestId&, Random&) {
  return {};
}
Operations SearchMethod::validation_completed(const RequestId&, double, std::int64_t, Random&) {
  return {};
}
Operations SearchMethod::trial_exited_early(const RequestId&, ExitedReason, Random&) {
  return {};
}
Operations SearchMethod::trial_closed(const RequestId&, Random&) {
  return {};
}
Operations SearchMethod::resized(Random&) {
  return {};
}
Operations SearchMethod::run_again(std::vector<Again>&, Random&) {
  return {};
}
void SearchMethod::trial_progressed(const RequestId&, double) {}

Result<std::unique_ptr<SearchMethod>> make_search_method(const config::ExperimentConfig& config) {
  const auto& name = config.searcher.name;
  using Make = Result<std::unique_ptr<SearchMethod>> (*)(const config::ExperimentConfig&);
  static const std::map<std::string, Make> methods = {{"adaptive", make_adaptive},
                                                      {"adaptive_asha", make_adaptive_asha},
                                                      {"adaptive_simple", make_adaptive_simple},
                                                      {"async_halving", make_async_halving},
                                                      {"custom", make_custom},
                                                      {"grid", make_grid},
                                                      {"optuna", make_custom},
                                                      {"pbt", make_population_based},
                                                      {"random", make_random},
                                                      {"single", make_single},
                                                      {"sync_halving", make_sync_halving},
                                                      {"tpe", make_tpe}};
  const auto method = methods.find(name);
  if (method != methods.end()) return method->second(config);
  std::string known;
  for (const auto& [each, make] : methods) known += (known.empty() ? "" : ", ") + each;
  return fail(ErrorCode::Unimplemented, "searcher.name is \"{}\"; it must be one of {}", name, known);
}

}  // namespace det::search
