#include "det/config/rules/check.h"

#include <algorithm>

#include "det/base/text.h"

namespace det::config {

namespace {

using schema::Field;
using schema::Kind;
using schema::Type;

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", shown(text));
}

std::string number_text(double number) {
  return number == std::floor(number) && std::abs(number) < 1e15
             ? fmt::format("{}", static_cast<std::int64_t>(number))
             : fmt::format("{}", number);
}

std::string join(const std::vector<std::string>& words, std::string_view quote, std::string_view last) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0)
      out += i + 1 < words.size() ? ", "
             : words.size() > 2   ? fmt::format(", {} ", last)
                                  : fmt::format(" {} ", last);
    out += fmt::format("{}{}{}", quote, words[i], quote);
  }
  return out;
}

std::string what_fits(const Type& unresolved) {
  const auto& type = schema::resolved(unresolved);
  switch (type.kind) {
    case Kind::Any: return "a value";
    case Kind::Literal: return "a literal";
    case Kind::Null: return "null";
    case Kind::Bool: return "true or false";
    case Kind::Integer: return "an integer";
    case Kind::Number: return "a number";
    case Kind::String: return "a string";
    case Kind::List: return "a list";
    case Kind::Map:
    case Kind::Section:
    case Kind::Union: return "a map";
    case Kind::AnyOf: break;
  }
  std::vector<std::string> options;
  for (const auto& option : type.of) options.push_back(what_fits(option));
  return join(options, "", "or");
}

// The last key of a path: what a rule is about.
std::string_view name_of(const Path& path) {
  for (auto step = path.rbegin(); step != path.rend(); ++step)
    if (const auto* key = std::get_if<std::string>(&*step)) return *key;
  return "the document";
}

/// The word of `known` that was probably meant, or empty.
std::string meant(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > 64) return "";
  // Two swapped letters are two edits.
  int best = 2 + static_cast<int>(std::min<std::size_t>(word.size() / 4, 2));
  std::string found;
  for (const auto& candidate : known) {
    if (candidate.starts_with(fmt::format("{}_", word))) return candidate;
    const int distance = edit_distance(to_lower(word), candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

class Checker {
 public:
  Checker(const Type& root, Report& report) : root_(root), report_(report) {}

  /// `whole`: nothing will be merged into the value, so that what is required must be in it.
  void check(const Type& unresolved, const json::value& value, const json::value* below, const Path& path,
             bool whole) {
    const auto& type = schema::resolved(unresolved);
    if (type.kind == Kind::AnyOf) {
      const auto* option = schema::alternative(type, value);
      if (option != nullptr) return check(*option, value, below, path, whole);
    }
    if (!schema::fits_kind(type, value)) return report_.add(path, kind_problem(type, value));
    switch (type.kind) {
      case Kind::Integer:
      case Kind::Number: return check_number(type, value, path);
      case Kind::String: return check_string(type, value.get_string(), path);
      case Kind::List: return check_list(type, value.get_array(), path);
      case Kind::Map: return check_map(type, value.get_object(), path);
      case Kind::Section: return check_section(type, value.get_object(), below, path, whole);
      case Kind::Union: return check_union(type, value, below, path, whole);
      default: return;
    }
  }

 private:
  static bool is_length(const Type& type) {
    return type.exactly_one ||
           std::any_of(type.of.begin(), type.of.end(), [](const Type& option) { return option.exactly_one; });
  }

  static std::string kind_problem(const Type& type, const json::value& value) {
    if (is_length(type)) return fmt::format("invalid length: {}: {}", shown_value(value), length_rule(type));
    if (type.rule.empty()) return fmt::format("{} is not {}", shown_value(value), what_fits(type));
    return fmt::format("{}: {} is not {}", type.rule, shown_value(value), what_fits(type));
  }

  static const std::string& length_rule(const Type& type) {
    if (type.exactly_one) return type.rule;
    return std::find_if(type.of.begin(), type.of.end(), [](const Type& option) { return option.exactly_one; })
        ->rule;
  }

  void check_number(const Type& type, const json::value& value, const Path& path) {
    const double number = *json::to_double(value);
    const auto name = name_of(path);
    const bool whole_number = type.kind == Kind::Integer;
    // An integer that a 64-bit counter cannot hold passes no range that the table names.
    if (whole_number && !json::to_int64(value))
      return report_.add(path, fmt::format("{} does not fit in a 64-bit integer", shown_value(value)));
    std::string rule, requirement;
    if (type.minimum && (number < *type.minimum || (type.minimum_excluded && number == *type.minimum))) {
      const bool above_zero =
          (type.minimum_excluded && *type.minimum == 0) || (whole_number && *type.minimum == 1);
      const auto limit = number_text(*type.minimum);
      rule = above_zero ? fmt::format("{} must be > 0", name)
                        : fmt::format("{} must be {} {}", name, type.minimum_excluded ? ">" : ">=", limit);
      requirement = fmt::format("{} {}", type.minimum_excluded ? "greater than" : "at least", limit);
    } else if (type.maximum && number > *type.maximum) {
      rule = fmt::format("{} must be <= {}", name, number_text(*type.maximum));
      requirement = fmt::format("at most {}", number_text(*type.maximum));
    } else {
      return;
    }
    report_.add(path, fmt::format("{}: {} is not {}", type.rule.empty() ? rule : type.rule,
                                  shown_value(value), requirement));
  }

  void check_string(const Type& type, std::string_view text, const Path& path) {
    if (!type.choices.empty() &&
        std::find(type.choices.begin(), type.choices.end(), text) == type.choices.end()) {
      const auto choices = join(type.choices, "", "or");
      const auto rule =
          type.rule.empty() ? fmt::format("{} must be one of {}", name_of(path), choices) : type.rule;
      return report_.add(path, fmt::format("{}: {} is not {}{}", rule, quoted(text),
                                           type.choices.size() > 1 ? "one of " : "", choices));
    }
    if (type.minimum && static_cast<double>(text.size()) < *type.minimum)
      return report_.add(path, fmt::format("{} must not be empty", name_of(path)));
    if (type.accepts != nullptr && !type.accepts(text))
      report_.add(path, fmt::format("{}: {}", type.rule, quoted(text)));
  }

  void check_list(const Type& type, const json::array& list, const Path& path) {
    if (type.minimum && static_cast<double>(list.size()) < *type.minimum)
      report_.add(path, type.rule.empty() ? fmt::format("{} must not be empty", name_of(path))
                                          : fmt::format("{}: {} is empty", type.rule, name_of(path)));
    for (std::size_t i = 0; i < list.size(); ++i) check(type.of.front(), list[i], nullptr, path / i, true);
  }

  void check_map(const Type& type, const json::object& map, const Path& path) {
    const auto& values = schema::resolved(type.of.front());
    for (const auto& [key, value] : map)
      if (!value.is_null() || schema::fits_kind(values, value))
        check(values, value, nullptr, path / std::string_view(key), true);
  }

  void check_section(const Type& type, const json::object& section, const json::value* below,
                     const Path& path, bool whole) {
    if (type.exactly_one) {
      std::size_t set = 0;
      bool known = true;
      for (const auto& [key, value] : section) {
        if (value.is_null()) continue;
        ++set;
        known = known && schema::find_field(type.fields, key) != nullptr;
      }
      if (set != 1 || !known)
        return report_.add(path, fmt::format("invalid length: {}: {}", shown_value(section), type.rule));
    }
    check_fields(type, "", section, below, path, whole);
  }

  void check_union(const Type& type, const json::value& value, const json::value* below, const Path& path,
                   bool whole) {
    const auto& object = value.get_object();
    const auto* tag = object.if_contains(type.tag);
    const bool untagged = tag == nullptr || tag->is_null() || (type.untagged != nullptr && tag->is_object());
    if (untagged && type.untagged != nullptr) return check(type.untagged(), value, nullptr, path, whole);
    auto name = schema::tag_of(type, value);
    if (untagged && below != nullptr) name = schema::tag_of(type, *below);
    const bool is_member = schema::find_member(type, name) != nullptr;
    if (!untagged && !type.supports(name)) {
      report_.add(path, path / std::string_view(type.tag),
                  fmt::format("{} {} is not supported: {}", type.tag, quoted(name), type.instead));
      if (!is_member) return;
    } else if (!untagged && !is_member) {
      report_.add(
          path, path / std::string_view(type.tag),
          fmt::format("{}: {}{}", tag_rule(type), shown_value(*tag), suggestion(name, member_names(type))));
      if (type.fields.empty()) return;
    }
    check_fields(type, name, object, below, path, whole);
  }

  static std::vector<std::string> member_names(const Type& type) {
    std::vector<std::string> names;
    for (const auto& member : type.members) names.push_back(member.name);
    return names;
  }

 public:
  static std::string tag_rule(const Type& type) {
    if (!type.rule.empty()) return type.rule;
    return fmt::format("is not an object where object[\"{}\"] is one of {}", type.tag,
                       join(member_names(type), "'", "or"));
  }

 private:
  static std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
    const auto found = meant(word, known);
    return found.empty() ? "" : fmt::format("; did you mean \"{}\"?", found);
  }

  void check_fields(const Type& type, std::string_view tag, const json::object& object,
                    const json::value* below, const Path& path, bool whole) {
    const auto* below_object = below != nullptr ? below->if_object() : nullptr;
    for (const auto& [key, value] : object) {
      if (type.kind == Kind::Union && key == type.tag) continue;
      const auto* field = schema::find_field(type, tag, key);
      // Without a usable tag a field of any member will do.
      if (field == nullptr && schema::find_member(type, tag) == nullptr)
        for (const auto& member : type.members)
          if (field == nullptr) field = schema::find_field(member.fields, key);
      const auto here = path / std::string_view(key);
      if (field == nullptr) {
        report_.add(path, here,
                    fmt::format("additionalProperties {} not allowed: {}", quoted(key),
                                unknown(type, tag, key, path)));
        continue;
      }
      if (value.is_null() && schema::resolved(field->type).kind != Kind::Any) continue;
      check(field->type, value, below_object != nullptr ? below_object->if_contains(key) : nullptr, here,
            whole);
    }
    if (whole) require(type.fields, object, path);
    if (const auto* member = schema::find_member(type, tag); whole && member != nullptr)
      require(member->fields, object, path);
  }

  void require(const std::vector<Field>& fields, const json::object& object, const Path& path) {
    for (const auto& field : fields) {
      const auto* value = object.if_contains(field.name);
      const bool absent =
          value == nullptr || (value->is_null() && schema::resolved(field.type).kind != Kind::Any);
      if (field.is_required && absent)
        report_.add(path, fmt::format("{} is a required property", field.name));
    }
  }

  std::string unknown(const Type& type, std::string_view tag, std::string_view key, const Path& path) {
    // Looking for what was meant takes its time; a document that is wrong all over gets no more advice.
    if (++unknown_ > 100) return "unknown field";
    std::vector<std::string> holders;
    for (const auto& member : type.members)
      if (member.name != tag && schema::find_field(member.fields, key) != nullptr)
        holders.push_back(member.name);
    if (!holders.empty() && !tag.empty())
      return fmt::format("it is a field of {}, not of {}", join(holders, "", "and"), tag);
    if (path.empty()) {
      for (const auto& field : root_.fields) {
        const auto& section = schema::resolved(field.type);
        if ((section.kind == Kind::Section || section.kind == Kind::Union) &&
            schema::find_field(section.fields, key) != nullptr)
          return fmt::format("it belongs in \"{}\"", field.name);
      }
    }
    std::vector<std::string> known;
    for (const auto& field : type.fields) known.push_back(field.name);
    if (!type.tag.empty()) known.push_back(type.tag);
    if (const auto* member = schema::find_member(type, tag))
      for (const auto& field : member->fields) known.push_back(field.name);
    const auto found = meant(key, known);
    if (!found.empty()) return fmt::format("unknown field; did you mean \"{}\"?", found);
    if (!path.empty() && schema::find_field(root_.fields, key) != nullptr)
      return "it belongs at the top level";
    return "unknown field";
  }

  const Type& root_;
  Report& report_;
  int unknown_ = 0;
};

void complete(const Type& unresolved, const json::value& value, const Path& path, Report& report) {
  const auto& type = schema::resolved(unresolved);
  const auto* object = value.if_object();
  if (object == nullptr || (type.kind != Kind::Section && type.kind != Kind::Union) ||
      type.untagged != nullptr)
    return;
  const auto tag = type.kind == Kind::Union ? schema::tag_of(type, value) : std::string_view{};
  const auto* member = schema::find_member(type, tag);
  if (type.kind == Kind::Union) {
    const auto* given = object->if_contains(type.tag);
    if (given == nullptr || given->is_null())
      report.add(path, fmt::format("{}: {} is a required property", Checker::tag_rule(type), type.tag));
  }
  const auto walk = [&](const std::vector<Field>& fields) {
    for (const auto& field : fields) {
      const auto* found = object->if_contains(field.name);
      if (found == nullptr || found->is_null()) {
        if (field.is_required) report.add(path, fmt::format("{} is a required property", field.name));
      } else {
        complete(field.type, *found, path / std::string_view(field.name), report);
      }
    }
  };
  walk(type.fields);
  if (member != nullptr) walk(member->fields);
}

}  // namespace

void check_layer(const Type& type, const json::value& layer, const json::value& below, Report& report) {
  Checker(type, report).check(type, layer, &below, {}, false);
}

void check_complete(const Type& type, const json::value& merged, Report& report) {
  complete(type, merged, {}, report);
}

}  // namespace det::config
