// Trials of two ranks, each a process of its own: what they exchange, and how they end.
#include "det/pytorch/ranks/ranks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "det/checkpoint/scratch.h"
#include "det/pytorch/files/checkpoint_files.h"
#include "det/pytorch/ranks/gradients.h"
#include "det/pytorch/ranks/network.h"
#include "det/pytorch/ranks/rank_end.h"
#include "det/pytorch/ranks/watch.h"
#include "det/pytorch/testing.h"

namespace det::pytorch {
namespace {

namespace fs = std::filesystem;
using testing::NoisyTrial;

class RanksTest : public ::testing::Test {
 protected:
  /// Does `body` on every rank at once, each in a child of this process; the statuses that they ended with.
  template <typename Body>
  std::vector<int> together(std::int64_t size, const Body& body,
                            std::chrono::milliseconds limit = std::chrono::minutes(1)) {
    const auto listener = *listen_for_ranks(false);
    std::vector<pid_t> children;
    for (std::int64_t rank = 0; rank < size; ++rank) {
      const auto child = ::fork();
      if (child == 0) ::_exit(run_rank(listener, rank, size, body, limit));
      children.push_back(child);
    }
    ::close(listener.socket);
    std::vector<int> statuses;
    for (const auto child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      statuses.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
    return statuses;
  }

  template <typename Body>
  static int run_rank(const Listener& listener, std::int64_t rank, std::int64_t size, const Body& body,
                      std::chrono::milliseconds limit) {
    ::signal(SIGPIPE, SIG_IGN);
    try {
      const std::chrono::seconds patience(20);
      if (rank != 0) ::close(listener.socket);
      const auto store = rank == 0 ? Store::serve(listener.socket, listener.port)
                                   : Store::connect("127.0.0.1", listener.port, patience);
      Watch watch({.rank = rank,
                   .size = size,
                   .limit = limit,
                   .store = store.get(),
                   .own = Store::connect("127.0.0.1", listener.port, patience),
                   .exit_with = {}});
      std::unique_ptr<Ranks> ranks;
      // Who loses another while they still connect ends as one that loses it later.
      const int status = shared_end(&watch, rank, size, [&] {
        const Place place{.rank = rank,
                          .size = size,
                          .machines = std::vector<std::int64_t>(static_cast<std::size_t>(size), 0)};
        ranks = std::make_unique<Ranks>(*store, place, watch, "lo", patience);
        return body(*ranks);
      });
      watch.leave();
      return status;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %lld: %s\n", static_cast<long long>(rank), error.what());
      return 99;
    }
  }

  Scratch scratch_{"det-ranks"};
  fs::path root_ = scratch_.path();
};

TEST_F(RanksTest, EveryRankGetsWhatAllSayInTheirOrder) {
  const auto statuses = together(3, [](Ranks& ranks) {
    const auto rank = ranks.place().rank;
    const auto mine = std::string(static_cast<std::size_t>(rank) * 1000, static_cast<char>('a' + rank));
    const auto all = ranks.allgather(mine, "a test");
    if (all.size() != 3 || !all[0].empty() || all[1] != std::string(1000, 'b') ||
        all[2] != std::string(2000, 'c'))
      return 1;
    if (ranks.broadcast(rank == 0 ? "said" : "", "a test") != "said") return 2;
    if (ranks.gather("x", "a test").size() != (rank == 0 ? 3U : 0U)) return 3;
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0, 0}));
}

/// Parameters of which some have no gradient here, some nowhere; big enough for several buckets.
TEST_F(RanksTest, GradientsAreTheMeanOfAllRanksAndMissingOnesCountAsZero) {
  const auto statuses = together(2, [](Ranks& ranks) {
    const auto rank = ranks.place().rank;
    std::vector<at::Tensor> parameters;
    for (int i = 0; i < 4; ++i) parameters.push_back(at::ones({3'000'000}).requires_grad_());
    auto optimizer = std::make_shared<torch::optim::SGD>(parameters, torch::optim::SGDOptions(0.5));
    GradientExchange exchange(optimizer, ranks, false);
    for (int batch = 0; batch < 3; ++batch) {
      optimizer->zero_grad();
      exchange.begin_batch(true);
      auto loss = (parameters[0] * static_cast<double>(rank + 1)).sum() + parameters[3].sum();
      if (rank == 1) loss = loss + parameters[1].sum() * 4;
      loss.backward();
      exchange.run();
      if (parameters[0].grad()[7].item<double>() != 1.5) return 1;
      if (parameters[1].grad()[7].item<double>() != 2) return 2;
      if (parameters[2].grad().defined()) return 3;
      if (parameters[3].grad()[2'999'999].item<double>() != 1) return 4;
      exchange.done = false;
    }
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0}));
}

Environment environment_of(Ranks& ranks, std::int64_t aggregation) {
  auto e = testing::environment(7, aggregation);
  e.rank = e.local_rank = ranks.place().rank;
  e.size = e.local_size = ranks.place().size;
  e.per_slot_batch_size = e.global_batch_size / e.size;
  return e;
}

std::unique_ptr<Engine> engine_of(Ranks& ranks, std::int64_t aggregation) {
  const auto e = environment_of(ranks, aggregation);
  prepare_process(e);
  return std::make_unique<Engine>(
      [](TrialContext& context) -> std::unique_ptr<TrialBase> {
        return std::make_unique<NoisyTrial>(context);
      },
      e, &ranks);
}

void save_on_all(Engine& engine, Ranks& ranks, const fs::path& directory, std::int64_t trained) {
  if (ranks.place().rank == 0) {
    fs::create_directory(directory);
    engine.collect({.batches_trained = trained});
    engine.write(directory, [] {});
  } else {
    engine.contribute();
  }
  ranks.allgather("", "the end of a save");
}

void write_rows(const fs::path& file, const Trained& trained) {
  std::ofstream out(file, std::ios::app);
  for (const auto& row : trained.batches)
    for (const double value : row) out << std::hexfloat << value << '\n';
}

std::string read_all(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string weights(const fs::path& checkpoint) {
  std::ostringstream text;
  const auto files = read_checkpoint(checkpoint);
  for (const auto& [name, value] : files.state.at("models_state_dict").list()[0].dict().entries()) {
    const auto flat = value.tensor().to(at::kDouble).reshape({-1}).contiguous();
    for (std::int64_t i = 0; i < flat.numel(); ++i)
      text << std::hexfloat << flat.const_data_ptr<double>()[i] << ' ';
  }
  return text.str();
}

TEST_F(RanksTest, ATrialOfTwoRanksThatIsResumedTrainsAsOneThatWasNeverInterrupted) {
  const auto statuses = together(2, [this](Ranks& ranks) {
    const bool chief = ranks.place().rank == 0;
    {
      auto one = engine_of(ranks, 3);
      one->start({}, "", false);
      const auto first = one->train(4);
      save_on_all(*one, ranks, root_ / "half", 4);  // in the middle of an aggregation
      const auto second = one->train(4);
      if (one->validate().size() != 1) return 1;
      save_on_all(*one, ranks, root_ / "straight", 8);
      if (chief) write_rows(root_ / "straight.txt", first), write_rows(root_ / "straight.txt", second);
      if (chief) write_rows(root_ / "broken.txt", first);
      one->close();
    }
    auto two = engine_of(ranks, 3);
    two->start(root_ / "half", "half", false);
    const auto rest = two->train(4);
    save_on_all(*two, ranks, root_ / "broken", 8);
    if (chief) write_rows(root_ / "broken.txt", rest);
    two->close();
    return 0;
  });
  ASSERT_EQ(statuses, (std::vector<int>{0, 0}));
  EXPECT_FALSE(read_all(root_ / "straight.txt").empty());
  EXPECT_EQ(read_all(root_ / "straight.txt"), read_all(root_ / "broken.txt"));
  EXPECT_EQ(weights(root_ / "straight"), weights(root_ / "broken"));
}

TEST_F(RanksTest, OneRankGoesOnFromACheckpointOfTwoAndIsToldOfHowManyItIs) {
  const auto saved = together(2, [this](Ranks& ranks) {
    auto engine = engine_of(ranks, 1);
    engine->start({}, "", false);
    engine->train(4);
    save_on_all(*engine, ranks, root_ / "two", 4);
    return 0;
  });
  ASSERT_EQ(saved, (std::vector<int>{0, 0}));
  const auto statuses = together(1, [this](Ranks&) {
    auto one = testing::engine<NoisyTrial>(testing::environment());
    const auto loop = one->start(root_ / "two", "two", false);
    if (!loop || loop->batches_trained != 4 || loop->slots != 2) return 1;
    one->train(2);
    fs::create_directory(root_ / "one");
    one->collect({.batches_trained = 6});
    one->write(root_ / "one", [] {});
    auto again = testing::engine<NoisyTrial>(testing::environment());
    return again->start(root_ / "one", "one", false)->slots == 1 ? 0 : 2;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0}));
}

TEST_F(RanksTest, AnOptimizerThatIsSteppedWithoutTheExchangeIsRefusedWhenTheTrialIsSaved) {
  const auto statuses = together(2, [](Ranks& ranks) {
    auto engine = engine_of(ranks, 1);
    engine->start({}, "", false);
    ranks.watch().note("testing");
    // As if each rank had taken a step of its own.
    torch::NoGradGuard no_grad;
    testing::NoisyTrial::newest->parameters()[0].add_(static_cast<double>(ranks.place().rank));
    if (ranks.place().rank == 1) {
      engine->contribute();
      return 0;
    }
    try {
      engine->collect({});
    } catch (const UsageError& error) {
      return std::string(error.what()).find("on rank 1 differ") != std::string::npos ? 7 : 8;
    }
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{7, 0}));
}

TEST_F(RanksTest, ARankWhoseProcessDiesIsNoticedByTheOther) {
  const auto statuses = together(2, [](Ranks& ranks) {
    ranks.allgather("", "both are there");
    if (ranks.place().rank == 1) ::_exit(5);
    try {
      ranks.allgather("", "a test");
    } catch (const RankLost& error) {
      ranks.watch().claim("lost", error.what());
      return 6;
    }
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{6, 5}));
}

TEST_F(RanksTest, ARankThatWaitsTooLongEndsAllAndTheOthersFollow) {
  const auto statuses = together(
      2,
      [](Ranks& ranks) {
        if (ranks.place().rank == 1) std::this_thread::sleep_for(std::chrono::seconds(30));
        ranks.allgather("", "a test");
        return 0;
      },
      std::chrono::milliseconds(300));
  EXPECT_EQ(statuses, (std::vector<int>{kExitHung, kExitFollowed}));
}

TEST_F(RanksTest, TheFirstToClaimTheEndIsFollowed) {
  const auto statuses = together(2, [](Ranks& ranks) {
    if (ranks.place().rank == 1) {
      if (!ranks.watch().claim("failed", "why")) return 3;
      ranks.watch().told();
      return 1;
    }
    std::this_thread::sleep_for(std::chrono::seconds(20));
    return 4;
  });
  EXPECT_EQ(statuses, (std::vector<int>{kExitFollowed, 1}));
}

}  // namespace
}  // namespace det::pytorch
