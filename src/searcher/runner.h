#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "det/base/error.h"
#include "det/searcher/method.h"

namespace det::searcher {

struct RunnerOptions {
  std::filesystem::path directory = "searcher-state";  ///< Where the state is kept.
  std::string master;  ///< Empty: DET_MASTER, DET_MASTER_ADDR, else localhost:8080.
  std::string user;    ///< Empty: DET_USER_TOKEN, DET_USER, or whom `det user login` has logged in.
  std::chrono::seconds patience{600};  ///< How long it waits for a master that does not answer.
};

/// Carries events of an experiment with `searcher.name: custom` to a method, and its operations back.
///
/// What the method answers is saved together with its state before it is sent. A runner that ends between the
/// two sends the very same operations when it is started again with the same directory, and the master takes
/// an answer to an event once: killed at any instant, the search goes on as if nothing had happened.
class SearchRunner {
 public:
  /// `method` must live as long.
  explicit SearchRunner(SearchMethod& method, RunnerOptions options = {});
  ~SearchRunner();
  SearchRunner(const SearchRunner&) = delete;
  SearchRunner& operator=(const SearchRunner&) = delete;

  /// Submits the experiment, or goes on with the one of the directory, and drives it to its end. Its id.
  ///
  /// Fails with InvalidArgument where the configuration, or an operation of the method, makes no sense;
  /// FailedPrecondition where another runner works in the directory or drives the experiment; Unavailable
  /// where no master answered for longer than `patience`, or the state cannot be kept.
  Result<std::int64_t> run(const std::filesystem::path& config, const std::filesystem::path& model_directory,
                           const std::vector<std::string>& includes = {});

  const SearchState& state() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace det::searcher
