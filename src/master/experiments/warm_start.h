#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "det/config/experiment_config.h"
#include "det/master/checkpoints/collector.h"
#include "det/master/services.h"

namespace det::master {

/// Keeps a checkpoint for a trial that is about to be created and starts from it: what holds it until the
/// trial does. `storage`: where the trial will look for it.
///
/// InvalidArgument: there is no such checkpoint, it was deleted, in part too, or it is kept where the trial
/// would not find it. Whether the caller may read it is asked by `may`.
asio::awaitable<Result<std::shared_ptr<Collector::Hold>>> hold_source(Services& s,
                                                                      config::CheckpointStorage storage,
                                                                      std::string uuid);

}  // namespace det::master
