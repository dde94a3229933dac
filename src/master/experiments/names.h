#pragma once

#include <string>

namespace det::master {

/// Three words for an experiment that nobody named: "calm-silver-heron". Random; only for display.
std::string pet_name();

}  // namespace det::master
