#include "det/base/format.h"

template void fmt::detail::vformat_to(fmt::detail::buffer<char>&, fmt::string_view,
                                      fmt::basic_format_args<fmt::format_context>, fmt::detail::locale_ref);
