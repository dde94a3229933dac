#pragma once

#include <fmt/format.h>

// The library fmt has these compiled; without this every file that logs compiles them for itself. For fmt 9, and for
// whatever later release still has them under these names.
extern template void fmt::detail::vformat_to(fmt::detail::buffer<char>&, fmt::string_view,
                                             fmt::basic_format_args<fmt::format_context>,
                                             fmt::detail::locale_ref);
extern template void fmt::detail::buffer<char>::append(const char*, const char*);
