#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "det/base/json.h"

/// The one description of an experiment's configuration. Checks, defaults,
/// merging, masking of secrets, suggestions for unknown keys and the JSON Schema
/// are all read from it; schema_*.cpp write it down, section by section.
///
/// What a type cannot say about one value alone (one field against another) is
/// in rules*.cpp.
namespace det::config::schema {

struct Field;
struct Member;

enum class Kind {
  Any,      ///< Whatever JSON can hold, verbatim.
  Literal,  ///< Anything but a map.
  Null,
  Bool,
  Integer,
  Number,
  String,
  List,     ///< of.front(): its elements.
  Map,      ///< of.front(): its values, under keys that users choose.
  Section,  ///< A map with known fields.
  Union,    ///< A map whose field `tag` says which member's fields it has besides the common ones.
  AnyOf,    ///< The first of the alternatives whose JSON kind fits.
};

struct Type {
  Kind kind = Kind::Any;
  std::optional<double> minimum;  ///< Integer, Number; for List and Map: of the number of entries.
  std::optional<double> maximum;
  bool minimum_excluded = false;
  std::vector<std::string> choices;  ///< String: one of these.
  std::string pattern;               ///< String: ECMAScript and JSON Schema.
  /// String: what `pattern` says, or more, as code.
  bool (*accepts)(std::string_view) = nullptr;
  std::string rule;  ///< The sentence for a value that does not fit; empty: made from the above.
  std::vector<Type> of;
  std::vector<Field> fields;
  bool exactly_one = false;  ///< Section: one field must be there and no other.
  std::string tag;
  std::vector<Member> members;
  /// Union: tags that other releases know, and what to write instead. One that is also a member keeps its
  /// fields and their checks.
  std::vector<std::string> unsupported{};
  std::string instead{};
  /// Union: what a map without a tag is. None: the tag is required.
  const Type& (*untagged)() = nullptr;
  /// Stands for another type, which may contain this one.
  const Type& (*same_as)() = nullptr;

  Type at_least(double limit) &&;
  Type at_most(double limit) &&;
  Type above(double limit) &&;
  Type says(std::string sentence) &&;
  Type matches(std::string expression, bool (*code)(std::string_view)) &&;
  Type without(std::vector<std::string> tags, std::string advice) &&;
  bool supports(std::string_view name) const;
};

/// One member of a union: the value of the tag and the fields that come with it.
struct Member {
  std::string name;
  std::vector<Field> fields;
};

/// How a field of a higher layer meets the same field of a lower one. None:
/// maps recursively, unions by tag, anything else is replaced.
using Merge = json::value (*)(const json::value& higher, const json::value& lower);

struct Field {
  std::string name;
  Type type;
  std::string about;                            ///< One line for the reader of the JSON Schema.
  std::optional<json::value> fallback{};        ///< None: the field stays absent.
  std::optional<json::value> fallback_steps{};  ///< Where configurations in steps differ.
  bool is_required = false;  ///< After merging; in list elements and hyperparameters at once.
  bool is_secret = false;
  Merge merge = nullptr;

  Field otherwise(json::value value) && { return fallback = std::move(value), std::move(*this); }
  Field otherwise_in_steps(json::value value) && {
    return fallback_steps = std::move(value), std::move(*this);
  }
  Field required() && { return is_required = true, std::move(*this); }
  Field secret() && { return is_secret = true, std::move(*this); }
  Field merged_by(Merge function) && { return merge = function, std::move(*this); }
};

// Here, where Field and Member are complete.
inline Type Type::at_least(double limit) && {
  return minimum = limit, std::move(*this);
}
inline Type Type::at_most(double limit) && {
  return maximum = limit, std::move(*this);
}
inline Type Type::above(double limit) && {
  return minimum = limit, minimum_excluded = true, std::move(*this);
}
inline Type Type::says(std::string sentence) && {
  return rule = std::move(sentence), std::move(*this);
}
inline Type Type::matches(std::string expression, bool (*code)(std::string_view)) && {
  return pattern = std::move(expression), accepts = code, std::move(*this);
}

inline Type Type::without(std::vector<std::string> tags, std::string advice) && {
  return unsupported = std::move(tags), instead = std::move(advice), std::move(*this);
}
inline bool Type::supports(std::string_view name) const {
  return std::find(unsupported.begin(), unsupported.end(), name) == unsupported.end();
}

Type any();
Type literal();
Type null();
Type boolean();
Type integer();
Type number();
Type string();
Type one_of(std::vector<std::string> choices);
Type list(Type element);
Type map(Type values);
Type section(std::vector<Field> fields);
Type tagged(std::string tag, std::vector<Field> common, std::vector<Member> members);
Type any_of(std::vector<Type> alternatives);
Type reference(const Type& (*type)());
Field field(std::string name, Type type, std::string about);

/// `{batches: n}`, `{records: n}` or `{epochs: n}` with n >= at_least.
Type length(std::int64_t at_least);

/// Follows references.
const Type& resolved(const Type& type);
/// Whether the JSON kind of `value` is one that `type` may have.
bool fits_kind(const Type& type, const json::value& value);
/// The alternative of an AnyOf that `value` is, or null. Other types: themselves.
const Type* alternative(const Type& type, const json::value& value);
const Member* find_member(const Type& type, std::string_view name);
const Field* find_field(const std::vector<Field>& fields, std::string_view name);
/// The field `name` of a Section, or of a Union whose tag has the value `tag`.
const Field* find_field(const Type& type, std::string_view tag, std::string_view name);
/// The text of the tag in `value`, or empty.
std::string_view tag_of(const Type& type, const json::value& value);

/// The whole configuration, and its parts.
const Type& experiment();
/// The kinds of tasks that are no trials.
inline constexpr const char* kTaskKinds[] = {"command", "shell", "notebook", "tensorboard", "generic"};
/// The configuration of such a task.
const Type& task(std::string_view kind);
/// The fields of experiments and of tasks of all kinds together: what a template may have.
const Type& any_workload();
/// What an administrator may fix of either, and how far users may go.
const Type& experiment_policy();
const Type& task_policy();
Type searcher();
Type checkpoint_storage();
Type resources();
Type environment();
Type bind_mounts();
Type devices();
Type log_policies();
/// Of configurations in steps; later ones may say anything.
const Type& data_layer();
const Type& hyperparameter();

}  // namespace det::config::schema
