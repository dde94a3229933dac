#pragma once

#include <string>
#include <string_view>

namespace det::master {

/// The API document's description of a path or query parameter: the same name means the same thing in all
/// routes but a few. Empty if there is none; a test fails then.
std::string parameter_text(std::string_view path, std::string_view name);

}  // namespace det::master
