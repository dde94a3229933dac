#include "det/search/search_method.h"

#include "det/search/whole_trials.h"

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
void SearchMethod::trial_progressed(const RequestId&, double) {}

Result<std::unique_ptr<SearchMethod>> make_search_method(const config::ExperimentConfig& config) {
  const auto& name = config.searcher.name;
  if (name == "single") return make_single(config);
  if (name == "random") return make_random(config);
  if (name == "grid") return make_grid(config);
  return fail(ErrorCode::Unimplemented, "searcher.name is \"{}\"; this build has single, random and grid",
              name);
}

}  // namespace det::search
