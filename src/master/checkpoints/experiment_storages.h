#pragma once

#include <map>
#include <memory>

#include "det/checkpoint/storage.h"
#include "det/store/store.h"

namespace det::master {

/// The storages of experiments, each opened once: for a bucket that means credentials and a connection.
/// One thread at a time.
class ExperimentStorages {
 public:
  explicit ExperimentStorages(store::Store& store) : store_(store) {}

  /// Nothing where the experiment is gone.
  Result<checkpoint::Storage*> of(ExperimentId id);
  /// Deletes the files of one checkpoint, wherever its experiment's configuration says they are.
  Result<void> delete_files(ExperimentId id, const std::string& uuid);
  /// Deletes what there is of one that was never reported. Requires: nobody saves it any more.
  Result<void> discard(ExperimentId id, const std::string& uuid);

 private:
  store::Store& store_;
  std::map<ExperimentId, std::unique_ptr<checkpoint::Storage>> open_;
};

}  // namespace det::master
