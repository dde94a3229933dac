// How fast is a trial in C++, and how close to a bare loop over the same model? `cxx_trials.py` runs this
// program and adds the same trials in Python.
//
// Prints a line for each model and optimizer: their names, batches per second of processor time of the
// trial's loop and of the bare loop (the best of all rounds), and the ratio of the two (the median over
// rounds). The loops take turns every few milliseconds, so that other load on the machine affects both alike.
//
// Usage: cxx_trials [seconds per round] [rounds]
#include <malloc.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "../models/four_cxx/models.h"
#include "det/pytorch/engine/engine.h"
#include "det/pytorch/engine/process.h"

namespace {

using namespace det::pytorch;

constexpr double kTurn = 0.01;  ///< Seconds until the other loop's turn.

/// Processor time, which leaves out what other processes use.
double seconds_used() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

/// The same work without a platform; it keeps the loss of every batch.
template <typename Model, typename Rule>
class BareLoop {
 public:
  void train(std::int64_t batches) {
    for (std::int64_t i = 0; i < batches; ++i) {
      for (std::size_t j = 0; j < rows_.size(); ++j) rows_[j] = at_ + j;
      at_ = at_ + 2 * rows_.size() > data_.size() ? 0 : at_ + rows_.size();
      const auto batch = data_.get_batch(rows_);
      const auto loss = Model::loss(model_->forward(batch.data), batch.target);
      loss.backward();
      optimizer_.step();
      optimizer_.zero_grad();
      losses_.push_back(*loss.template const_data_ptr<float>());
    }
    losses_.clear();
  }

 private:
  decltype(Model::model()) model_ = Model::model();
  typename Rule::Optimizer optimizer_{model_->parameters(), Rule::options()};
  TensorDataset data_ = Model::data();
  Indices rows_ = Indices(static_cast<std::size_t>(Model::kBatch));
  std::size_t at_ = 0;
  std::vector<double> losses_;
};

/// One of the two loops in one round.
struct Run {
  std::int64_t batches = 0;
  double seconds = 0;
  double rate() const { return static_cast<double>(batches) / seconds; }

  template <typename Loop>
  void turn(Loop& loop, std::int64_t batches_in_a_turn) {
    const auto began = seconds_used();
    loop.train(batches_in_a_turn);
    seconds += seconds_used() - began;
    batches += batches_in_a_turn;
  }
};

/// The number of batches of about one turn, at least the chunk that a trial reports together.
template <typename Loop>
std::int64_t batches_of_a_turn(Loop& loop, std::int64_t chunk) {
  loop.train(chunk);
  Run run;
  run.turn(loop, chunk);
  return std::max<std::int64_t>(chunk, static_cast<std::int64_t>(kTurn * run.rate()));
}

template <typename Model, typename Rule>
void measure(double seconds, int rounds) {
  Environment environment;
  environment.trial_seed = 1;
  environment.use_gpu = false;
  prepare_process(environment);
  Engine engine(
      [](TrialContext& c) -> std::unique_ptr<TrialBase> {
        return std::make_unique<four::Trial<Model, Rule>>(c);
      },
      environment);
  engine.start({}, "", false);
  BareLoop<Model, Rule> bare;
  engine.train(Model::kChunk);
  const auto turn = batches_of_a_turn(bare, Model::kChunk);
  double ours = 0;
  double theirs = 0;
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    Run trial, loop;
    while (trial.seconds + loop.seconds < 2 * seconds) {
      trial.turn(engine, turn);
      loop.turn(bare, turn);
    }
    ours = std::max(ours, trial.rate());
    theirs = std::max(theirs, loop.rate());
    ratios.push_back(trial.rate() / loop.rate());
  }
  std::ranges::sort(ratios);
  std::printf("%s %s %.1f %.1f %.4f\n", Model::kName, Rule::kName, ours, theirs, ratios[ratios.size() / 2]);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.5;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  measure<four::Tiny, four::Sgd>(seconds, rounds);
  measure<four::Tiny, four::Adam>(seconds, rounds);
  measure<four::Mlp, four::Sgd>(seconds, rounds);
  measure<four::Mlp, four::Adam>(seconds, rounds);
  measure<four::Cnn, four::Sgd>(seconds, rounds);
  measure<four::Lstm, four::Adam>(seconds, rounds);
  return 0;
}
