#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "det/searcher/method.h"

namespace det::searcher {

/// What a runner must know after its death.
struct Saved {
  std::string mark;  ///< Names the experiment from before it has an id.
  SearchState searcher_state;
  json::array pending;  ///< The answer to the newest event, which may have been sent or not.
  json::value method;   ///< As SearchMethod::save gave it.
};
BOOST_DESCRIBE_STRUCT(Saved, (), (mark, searcher_state, pending, method))

/// The directory of one search: one runner at a time holds it.
class StateFile {
 public:
  /// FailedPrecondition: another runner holds it.
  static Result<StateFile> open(const std::filesystem::path& directory);
  ~StateFile();
  StateFile(StateFile&& other) noexcept;
  StateFile& operator=(StateFile&&) = delete;

  Result<std::optional<Saved>> read() const;
  Result<void> write(const Saved& saved) const;  ///< Durable when it returns.

 private:
  StateFile(std::filesystem::path directory, int lock) : directory_(std::move(directory)), lock_(lock) {}
  std::filesystem::path directory_;
  int lock_;
};

}  // namespace det::searcher
