#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "det/pytorch/ranks/store.h"
#include "det/trial/client.h"

namespace det::pytorch {

/// Not all ranks came in time, or they are of two languages; the text says which.
struct RanksMissing : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// The trial was asked to give way before all of its ranks had come.
struct PreemptedEarly : std::exception {};
/// Rank 0 ended before all ranks had come; the text says why.
struct ChiefLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// All ranks of a trial have come.
struct Meeting {
  std::unique_ptr<Store> store;  ///< Rank 0's process serves it.
  std::string host;
  std::uint16_t port = 0;
  std::vector<std::int64_t> machines;  ///< Of each rank, the number of its machine in the trial.
  std::string via;                     ///< An address of rank 0's machine that every rank reaches.

  std::unique_ptr<Store> another_connection() const;  ///< For another thread.
};

struct MeetingOptions {
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::int64_t local_size = 1;
  std::int64_t cross_rank = 0;  ///< The number of this machine in the trial.
  std::string name;             ///< Tells this run's store from others.
  std::string master_host;      ///< The ranks use the network that leads there.
  std::chrono::milliseconds patience{};
};

/// How the ranks of a trial find each other: rank 0 opens a store, the master tells the others where. The
/// same as between Python's ranks (docs/reference/protocols.md), whom it refuses by name. Returns when every
/// rank has come.
///
/// Throws RanksMissing, PreemptedEarly, ChiefLost.
Meeting meet(const MeetingOptions& options, trial::Client& client);

/// A number of seconds that a user may set in the environment; not one above 0: an error that names it.
Result<std::chrono::milliseconds> seconds_from(const char* text, const char* name,
                                               std::chrono::milliseconds otherwise);

}  // namespace det::pytorch
