#include "det/base/text.h"
#include "det/config/yaml/yaml.h"

namespace det::config {

std::optional<int> Document::line(const Path& path) const {
  const auto* at = &value;
  const auto* here = &lines;
  for (const auto& step : path) {
    std::size_t child = 0;
    if (const auto* position = std::get_if<std::size_t>(&step)) {
      if (!at->is_array() || *position >= at->get_array().size()) return std::nullopt;
      child = *position;
      at = &at->get_array()[child];
    } else {
      if (!at->is_object()) return std::nullopt;
      const auto& object = at->get_object();
      const auto* found = object.find(std::get<std::string>(step));
      if (found == object.end()) return std::nullopt;
      child = static_cast<std::size_t>(found - object.begin());
      at = &found->value();
    }
    if (child >= here->children.size()) return std::nullopt;
    here = &here->children[child];
  }
  return here->line;
}

Result<json::value> parse_yaml_value(std::string_view text) {
  auto document = parse_yaml(text);
  if (document) return std::move(document->value);
  return invalid_argument("\"{}\": {}", shown(text), document.error().front().text);
}

Result<void> apply_option(json::object& document, std::string_view option) {
  const auto equals = option.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return invalid_argument("\"{}\" is not of the form key=value, such as searcher.max_trials=16",
                            shown(option));
  DET_TRY(auto value, parse_yaml_value(option.substr(equals + 1)));
  auto* object = &document;
  auto keys = split(option.substr(0, equals), '.');
  if (keys.size() > 64) return invalid_argument("\"{}\" is nested deeper than 64 levels", shown(option));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].empty()) return invalid_argument("\"{}\" has an empty part in its path", shown(option));
    auto& member = (*object)[keys[i]];
    if (i + 1 == keys.size()) {
      member = std::move(value);
      break;
    }
    if (member.is_null()) member.emplace_object();
    if (!member.is_object())
      return invalid_argument("\"{}\": {} is not a section but {}", shown(option), shown(keys[i]),
                              shown(json::serialize(member)));
    object = &member.get_object();
  }
  return {};
}

}  // namespace det::config
