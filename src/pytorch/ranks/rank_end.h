#pragma once

#include <functional>
#include <string>

#include "det/pytorch/ranks/watch.h"

/// How a trial with several ranks ends when something goes wrong: the rank where it did says why, the others
/// follow. The counterpart of Python's _end.py.
namespace det::pytorch {

/// Whether this rank's end is the first of all, so that it may say why; it calls `told` after that. `watch`
/// is absent in a trial of one process.
bool first_end(Watch* watch, const std::string& kind, const std::string& text);

/// Does the work of one rank and gives the status to end with; what goes wrong is said by the first rank
/// only. Without a watch, what the work throws goes on.
int shared_end(Watch* watch, std::int64_t rank, std::int64_t size, const std::function<int()>& work);

}  // namespace det::pytorch
