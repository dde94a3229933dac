#include "det/search/sampling/sampling.h"

#include <cmath>

namespace det::search {

namespace {

using config::Generation;

/// One value of one hyperparameter, by its kind.
struct Sampler {
  Generation generation;
  Random& random;

  json::value operator()(const config::Constant& constant) const { return constant.value; }

  json::value operator()(const config::Integer& integer) const {
    // In unsigned arithmetic: the whole range of int64 is a legal range.
    const auto low = static_cast<std::uint64_t>(integer.minval);
    const auto width = static_cast<std::uint64_t>(integer.maxval) - low;
    const auto last = generation == Generation::Steps ? width - 1 : width;
    return static_cast<std::int64_t>(low + random.up_to(last));
  }

  json::value operator()(const config::Double& range) const {
    return random.uniform(range.minval, range.maxval);
  }

  json::value operator()(const config::Log& range) const {
    return std::pow(range.base, random.uniform(range.minval, range.maxval));
  }

  json::value operator()(const config::Categorical& categorical) const {
    const auto index = random.below(static_cast<std::int64_t>(categorical.values.size()));
    return categorical.values[static_cast<std::size_t>(index)];
  }

  json::value operator()(const config::Nested& nested) const {
    return sample(nested.children, generation, random);
  }
};

Result<void> check_integer(const config::Integer& integer, Generation generation) {
  if (generation == Generation::Steps && integer.maxval <= integer.minval)
    return invalid_argument("maxval is {}; it must be greater than minval, {}, because maxval is excluded",
                            integer.maxval, integer.minval);
  if (integer.maxval < integer.minval)
    return invalid_argument("maxval is {}; it must be at least minval, {}", integer.maxval, integer.minval);
  return {};
}

Result<void> check_range(double minval, double maxval) {
  if (!std::isfinite(minval) || !std::isfinite(maxval) || maxval < minval)
    return invalid_argument("maxval is {}; it must be a number of at least minval, {}", maxval, minval);
  return {};
}

/// Whether there is a value to draw, by kind.
struct Checker {
  Generation generation;

  Result<void> operator()(const config::Constant&) const { return {}; }
  Result<void> operator()(const config::Integer& integer) const { return check_integer(integer, generation); }
  Result<void> operator()(const config::Double& range) const {
    return check_range(range.minval, range.maxval);
  }
  Result<void> operator()(const config::Log& range) const { return check_range(range.minval, range.maxval); }
  Result<void> operator()(const config::Categorical& categorical) const {
    if (categorical.values.empty()) return invalid_argument("vals is empty; it must have at least one value");
    return {};
  }
  Result<void> operator()(const config::Nested& nested) const {
    for (const auto& [name, child] : nested.children) {
      auto checked = std::visit(*this, child.kind);
      if (!checked) return tl::unexpected(std::move(checked).error().within(name));
    }
    return {};
  }
};

}  // namespace

json::object sample(const config::Hyperparameters& hyperparameters, Generation generation, Random& random) {
  const Sampler sampler{.generation = generation, .random = random};
  json::object values;
  values.reserve(hyperparameters.size());
  for (const auto& [name, hyperparameter] : hyperparameters)
    values.emplace(name, std::visit(sampler, hyperparameter.kind));
  return values;
}

Create create_trial(json::object hparams, Random& random) {
  auto request_id = random.uuid();
  const auto seed = random.below(std::int64_t{1} << 31);
  return {.request_id = std::move(request_id), .trial_seed = seed, .hparams = std::move(hparams)};
}

Result<void> check_samplable(const config::Hyperparameters& hyperparameters, Generation generation) {
  const Checker check{.generation = generation};
  auto checked = check(config::Nested{.children = hyperparameters});
  if (!checked) return tl::unexpected(std::move(checked).error().within("hyperparameters"));
  return {};
}

}  // namespace det::search
