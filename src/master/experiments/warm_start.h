#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "det/config/experiment_config.h"
#include "det/master/checkpoints/collector.h"
#include "det/master/services.h"

namespace det::master {

/// Protects the checkpoint from which a new trial starts until the trial itself protects it. `storage`: where
/// the trial will look for it.
///
/// InvalidArgument: there is no such checkpoint, all or part of it was deleted, or it is stored where the
/// trial would not find it. The caller's permission is checked by `may`.
asio::awaitable<Result<std::shared_ptr<Collector::Hold>>> hold_source(Services& s,
                                                                      config::CheckpointStorage storage,
                                                                      std::string uuid);

}  // namespace det::master
