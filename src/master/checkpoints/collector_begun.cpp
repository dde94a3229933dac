// Checkpoints that were begun and never reported: their trial was killed while it saved.

#include "det/logging/log.h"

#include "det/http/offload.h"
#include "det/master/checkpoints/collector.h"
#include "det/master/checkpoints/experiment_storages.h"

namespace det::master {

asio::awaitable<Result<void>> Collector::remove_begun(ExperimentId id) {
  struct Work {
    std::vector<store::Change> gone;
    Result<void> result;
  };
  auto work = [this, id] {
    Work done;
    ExperimentStorages storages(store_);
    for (const auto& begun : store_.begun_checkpoints_of_experiment(id)) {
      done.result = storages.discard(id, begun.uuid);
      if (!done.result) break;
      logging::info("experiment {}: deleted the files of allocation {}'s unfinished checkpoint {}", id,
                    begun.allocation_id, begun.uuid);
      done.gone.push_back(store::DropBegunCheckpoint{begun.uuid});
    }
    return done;
  };
  auto done = co_await http::offload(pool_, std::move(work));
  if (!done.gone.empty()) co_await ledger_.write(std::move(done.gone));
  co_return std::move(done.result);
}

}  // namespace det::master
