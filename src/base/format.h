#pragma once

#include <fmt/format.h>

// Compiled once, in format.cpp, and not in every file that formats an id or logs. The library fmt has it,
// too, but under a name that clang does not spell as g++ does.
extern template void fmt::detail::vformat_to(fmt::detail::buffer<char>&, fmt::string_view,
                                             fmt::basic_format_args<fmt::format_context>,
                                             fmt::detail::locale_ref);
