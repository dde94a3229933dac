#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "det/base/json.h"

namespace det::cli {

/// A cell as text: null is empty, booleans are True and False, numbers are
/// short, texts are themselves, lists and objects are indented JSON.
std::string cell_text(const json::value& cell);

/// "2026-01-02T03:04:05.5Z" → "2026-01-02 03:04:05+0000"; null and text that is no time stay.
json::value time_cell(const json::value& rfc3339);
/// 0.1234 → "12.3%"; null stays.
json::value percent_cell(const json::value& fraction);
/// "STATE_COMPLETED" → "COMPLETED".
json::value state_cell(const json::value& state);
/// Bytes, as a number or as the text of one, in steps of 1024; null stays.
json::value size_cell(const json::value& bytes);
/// "4 s", "3 m 12 s", "2 h 5 m".
std::string duration_text(double seconds);

/// The member `path` ("a.b.c"), or null where something on the way is absent.
const json::value& at(const json::value& v, std::string_view path);
const json::value& at(const json::object& o, std::string_view path);
const json::value& at(json::value&& v, std::string_view path) = delete;
/// The text there, or "".
std::string text_at(const json::value& v, std::string_view path);
/// The number there (64-bit integers may be texts), or 0.
std::int64_t integer_at(const json::value& v, std::string_view path);
/// The list there, or an empty one.
const json::array& list_at(const json::value& v, std::string_view path);
const json::array& list_at(json::value&& v, std::string_view path) = delete;

}  // namespace det::cli
