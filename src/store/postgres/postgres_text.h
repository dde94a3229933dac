#pragma once

#include <string>
#include <string_view>

namespace det::store {

/// `?` becomes `$1`, `$2`, … and `?2` becomes `$2`, outside of texts and comments.
std::string numbered_parameters(std::string_view sql);

/// The statements of a migration as PostgreSQL understands them: types, keys that number themselves, and
/// texts that are ordered by their bytes.
std::string postgres_schema(std::string_view sql);

/// Whether a column of this name holds documents though it was declared as TEXT: SQLite stores what it is
/// given.
bool holds_document(std::string_view column);

/// What PostgreSQL cannot hold in a text, NUL and bytes that are not UTF-8, becomes U+FFFD.
std::string storable_text(std::string_view text);

}  // namespace det::store
