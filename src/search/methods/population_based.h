#pragma once

#include <map>
#include <optional>

#include "det/search/search_method.h"

namespace det::search {

/// Population based training, PBT (Jaderberg et al., 2017; searchers.md §12): a population trains in
/// rounds; after each the worst are closed, and changed copies of the best go on from their checkpoints.
class PopulationBased final : public SearchMethod {
 public:
  struct Options {
    std::int64_t population = 1;
    std::int64_t rounds = 1;
    std::int64_t length = 1;  ///< units that everybody trains in a round
    double truncate_fraction = 0.2;
    double resample_probability = 0.2;
    double perturb_factor = 0.2;
  };
  PopulationBased(const Options& options, const config::ExperimentConfig& config);

  Operations start(Random& random) override;
  Operations validation_completed(const RequestId& trial, double metric, std::int64_t length,
                                  Random& random) override;
  Operations trial_exited_early(const RequestId& trial, ExitedReason reason, Random& random) override;
  Operations trial_closed(const RequestId& trial, Random& random) override;
  double progress() const override;
  json::value snapshot() const override;
  Result<void> restore(const json::value& snapshot) override;

 private:
  /// Of the population of this round.
  struct Member {
    json::object hparams;
    std::int64_t length = 0;  ///< total that it was asked for
    std::optional<double> metric;
    bool exited = false;
    BOOST_DESCRIBE_CLASS(Member, (), (hparams, length, metric, exited), (), ())
  };
  struct Saved;

  void create(json::object hparams, const RequestId& parent, Operations& operations, Random& random);
  void train(const RequestId& trial, Member& member, Operations& operations);
  void end_rounds(Operations& operations, Random& random);
  bool all_reported() const;

  const Options options_;
  const config::Hyperparameters hyperparameters_;
  const config::Generation generation_;
  std::map<RequestId, Member> members_;
  std::int64_t rounds_completed_ = 0;
};

/// Values near to `values`: each is drawn anew with `resample_probability`, else moved up or down by
/// `perturb_factor` within its range. Constants and categories move by drawing anew only.
json::object explore(const config::Hyperparameters& hyperparameters, const json::object& values,
                     const PopulationBased::Options& options, config::Generation generation, Random& random);

Result<std::unique_ptr<SearchMethod>> make_population_based(const config::ExperimentConfig& config);

}  // namespace det::search
