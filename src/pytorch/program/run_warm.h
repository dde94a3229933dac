#pragma once

namespace det::pytorch {

/// The warm worker for trials in C++: has LibTorch loaded and forks a trial for each request on file
/// descriptor 3 (docs/reference/protocols.md §5). It has one thread, has run no backward pass, and its forks
/// seed every generator, so nothing of it shows in a trial.
int run_warm_worker();

}  // namespace det::pytorch
