#include "det/master/lists/expression.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "det/base/text.h"

namespace det::master {
namespace {

using Join = Condition::Join;
using Type = Condition::Type;

constexpr int kDepthMax = 32;
constexpr std::size_t kLengthMax = 4096;

enum class Kind { Text, Number, Duration, Size, Date, List };
struct Known {
  const char* name;    ///< as people write it
  const char* column;  ///< as rows have it
  Kind kind;
};
constexpr Known kColumns[] = {{"id", "id", Kind::Number},
                              {"name", "name", Kind::Text},
                              {"description", "description", Kind::Text},
                              {"label", "tags", Kind::List},
                              {"labels", "tags", Kind::List},
                              {"tag", "tags", Kind::List},
                              {"tags", "tags", Kind::List},
                              {"state", "state", Kind::Text},
                              {"user", "user", Kind::Text},
                              {"owner", "user", Kind::Text},
                              {"pool", "resourcePool", Kind::Text},
                              {"searcher", "searcherType", Kind::Text},
                              {"metric", "searcherMetric", Kind::Text},
                              {"best", "searcherMetricsVal", Kind::Number},
                              {"started", "startTime", Kind::Date},
                              {"ended", "endTime", Kind::Date},
                              {"duration", "duration", Kind::Duration},
                              {"trials", "numTrials", Kind::Number},
                              {"progress", "progress", Kind::Number},
                              {"checkpoints", "checkpointCount", Kind::Number},
                              {"size", "checkpointSize", Kind::Size},
                              {"parent", "forkedFrom", Kind::Number},
                              {"project", "projectId", Kind::Number},
                              {"archived", "archived", Kind::Text}};
constexpr std::array kAggregates = {"last", "min", "max", "mean"};

struct Token {
  enum class What { End, Word, Quoted, Sign };
  What what = What::End;
  std::string text;
  std::size_t at = 0;
  bool is(std::string_view sign) const { return what == What::Sign && text == sign; }
  bool says(std::string_view word) const { return what == What::Word && to_lower(text) == word; }
};

Result<std::vector<Token>> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at;
    } else if (c == '"' || c == '\'' || c == '`') {
      const auto end = text.find(c, at + 1);
      if (end == std::string_view::npos)
        return invalid_argument("filter: the text that begins with {} at character {} has no end", c, at + 1);
      const auto what = c == '`' ? Token::What::Word : Token::What::Quoted;
      tokens.push_back({what, std::string(text.substr(at + 1, end - at - 1)), at});
      at = end + 1;
    } else if (c == '(' || c == ')' || c == ',') {
      tokens.push_back({Token::What::Sign, std::string(1, c), at++});
    } else if (c == '=' || c == '<' || c == '>' || c == '!' || c == '~') {
      const char next = at + 1 < text.size() ? text[at + 1] : ' ';
      const std::size_t length = next == '=' || (c == '!' && next == '~') ? 2 : 1;
      tokens.push_back({Token::What::Sign, std::string(text.substr(at, length)), at});
      at += length;
    } else {
      const auto end = std::min(text.find_first_of(" \t\n\r\"'`(),=<>!~", at), text.size());
      tokens.push_back({Token::What::Word, std::string(text.substr(at, end - at)), at});
      at = end;
    }
  }
  tokens.push_back({Token::What::End, "", text.size()});
  return tokens;
}

/// "2h" of units {"h", 3600}: the number times its unit; nothing if it is none.
template <std::size_t N>
std::optional<double> with_unit(std::string_view text,
                                const std::array<std::pair<std::string_view, double>, N>& units) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const auto unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.empty()) return number;
  for (const auto& [name, factor] : units)
    if (unit == name) return number * factor;
  return std::nullopt;
}

constexpr std::array<std::pair<std::string_view, double>, 5> kDurations = {
    {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}}};
constexpr std::array<std::pair<std::string_view, double>, 9> kSizes = {{{"B", 1},
                                                                        {"kB", 1e3},
                                                                        {"MB", 1e6},
                                                                        {"GB", 1e9},
                                                                        {"TB", 1e12},
                                                                        {"KiB", 1024},
                                                                        {"MiB", 1048576},
                                                                        {"GiB", 1073741824},
                                                                        {"TiB", 1099511627776}}};

class Parser {
 public:
  Parser(std::vector<Token> tokens, const Speaker& speaker) : tokens_(std::move(tokens)), speaker_(speaker) {}

  Result<Condition> parse() {
    DET_TRY(auto whole, any(0));
    if (now().what != Token::What::End) return expected("and, or, or the end");
    return whole;
  }

 private:
  const Token& now() const { return tokens_[next_]; }
  const Token& take() { return tokens_[next_ + 1 < tokens_.size() ? next_++ : next_]; }
  bool take_if(bool matches) {
    if (matches) ++next_;
    return matches;
  }
  tl::unexpected<Error> expected(std::string_view what) const {
    if (now().what == Token::What::End) return invalid_argument("filter ends where {} is expected", what);
    return invalid_argument("filter has '{}' at character {}, where {} is expected", now().text, now().at + 1,
                            what);
  }

  static tl::unexpected<Error> too_deep() {
    return invalid_argument("filter is nested more than {} levels deep; simplify it", kDepthMax);
  }

  Result<Condition> any(int depth) { return joined(Join::Or, "or", depth); }
  Result<Condition> all(int depth) { return joined(Join::And, "and", depth); }
  Result<Condition> joined(Join join, std::string_view word, int depth) {
    if (depth > kDepthMax) return too_deep();
    Condition group{.join = join};
    do {
      DET_TRY(auto part, join == Join::Or ? all(depth) : one(depth));
      group.children.push_back(std::move(part));
    } while (take_if(now().says(word)));
    return group.children.size() == 1 ? Result<Condition>(std::move(group.children.front()))
                                      : Result<Condition>(std::move(group));
  }

  Result<Condition> one(int depth) {
    if (depth > kDepthMax) return too_deep();
    if (take_if(now().says("not"))) {
      DET_TRY(auto inner, one(depth + 1));
      return negated(std::move(inner));
    }
    if (take_if(now().is("("))) {
      DET_TRY(auto inner, any(depth + 1));
      if (!take_if(now().is(")"))) return expected("a closing parenthesis");
      return inner;
    }
    return condition();
  }

  static Condition negated(Condition condition) {
    if (condition.join != Join::None) {
      condition.join = condition.join == Join::And ? Join::Or : Join::And;
      for (auto& child : condition.children) child = negated(std::move(child));
      return condition;
    }
    static constexpr std::pair<std::string_view, std::string_view> kOpposites[] = {
        {"=", "!="}, {"contains", "notContains"}, {"isEmpty", "notEmpty"}};
    for (const auto& [a, b] : kOpposites) {
      if (condition.comparison == a) return condition.comparison = b, condition;
      if (condition.comparison == b) return condition.comparison = a, condition;
    }
    // What has no value is neither below nor above: it is in "not (lr < 1)".
    auto empty = condition;
    empty.comparison = "isEmpty";
    const auto& c = condition.comparison;
    condition.comparison = c == "<" ? ">=" : c == "<=" ? ">" : c == ">" ? "<=" : "<";
    return {.join = Join::Or, .children = {std::move(condition), std::move(empty)}};
  }

  Result<Condition> condition() {
    if (now().what == Token::What::Quoted) return words(take().text);
    if (now().what != Token::What::Word) return expected("a column or a word");
    const auto column = take();
    const auto& sign = now();
    if (sign.what == Token::What::Sign && sign.text != "(" && sign.text != ")" && sign.text != ",")
      return compared(column);
    if (take_if(now().says("contains"))) return value_of(column, "contains");
    if (take_if(now().says("in"))) return among(column);
    if (now().says("is") || (now().says("not") && tokens_[next_ + 1].says("contains")))
      return in_words(column);
    return words(column.text);
  }

  Result<Condition> compared(const Token& column) {
    auto sign = take().text;
    if (sign == "==") sign = "=";
    if (sign == "~") sign = "contains";
    if (sign == "!~") sign = "notContains";
    if (sign == "!" || sign == "~=") {
      --next_;
      return expected("= != < <= > >= or contains");
    }
    return value_of(column, sign);
  }

  Result<Condition> in_words(const Token& column) {
    if (take_if(now().says("not"))) return ++next_, value_of(column, "notContains");
    ++next_;  // is
    const bool negative = take_if(now().says("not"));
    if (!take_if(now().says("empty"))) return expected("empty");
    const auto found = column_of(column.text);
    return Condition{.column = found.column, .comparison = negative ? "notEmpty" : "isEmpty"};
  }

  Result<Condition> among(const Token& column) {
    if (!take_if(now().is("("))) return expected("a list in parentheses");
    Condition group{.join = Join::Or};
    do {
      DET_TRY(auto one, value_of(column, "="));
      group.children.push_back(std::move(one));
    } while (take_if(now().is(",")));
    if (!take_if(now().is(")"))) return expected("a comma or a closing parenthesis");
    return group;
  }

  /// A text to look for wherever people write.
  static Condition words(const std::string& text) {
    Condition group{.join = Join::Or};
    for (const auto* column : {"name", "description", "tags", "user"})
      group.children.push_back({.column = column, .comparison = "contains", .value = json::value(text)});
    const auto digits = std::string_view(text).substr(text.starts_with('#') ? 1 : 0);
    if (const auto number = with_unit<0>(digits, {}))
      group.children.push_back({.column = "id", .comparison = "=", .type = Type::Number, .value = *number});
    return group;
  }

  struct Column {
    std::string column;
    Kind kind = Kind::Text;
    bool known = false;
  };
  static Column column_of(const std::string& name) {
    const auto lower = to_lower(name);
    for (const auto& known : kColumns)
      if (lower == known.name) return {known.column, known.kind, true};
    const auto dot = name.find('.'), last = name.rfind('.');
    const bool metric =
        dot != std::string::npos && last != dot &&
        std::ranges::find(kAggregates, std::string_view(name).substr(last + 1)) != kAggregates.end();
    if (metric && !name.starts_with("hp.")) return {name, Kind::Number, true};
    return {name.starts_with("hp.") ? name : "hp." + name};
  }

  Result<Condition> value_of(const Token& name, std::string comparison) {
    if (now().what != Token::What::Word && now().what != Token::What::Quoted) return expected("a value");
    const auto given = take();
    auto column = column_of(name.text);
    Condition condition{
        .column = column.column, .comparison = std::move(comparison), .value = json::value(given.text)};
    if (!column.known && given.what == Token::What::Word && with_unit<0>(given.text, {}))
      column.kind = Kind::Number;
    const auto wrong = [&](std::string_view what) -> Result<Condition> {
      return invalid_argument("filter: {} is '{}' at character {}; it must be {}", name.text, given.text,
                              given.at + 1, what);
    };
    const auto number = [&](const auto& units, std::string_view what) -> Result<Condition> {
      const auto found = with_unit(given.text, units);
      if (!found) return wrong(what);
      condition.type = Type::Number;
      condition.value = *found;
      return condition;
    };
    switch (column.kind) {
      case Kind::Number: return number(std::array<std::pair<std::string_view, double>, 0>(), "a number");
      case Kind::Duration: return number(kDurations, "a duration such as 90s, 5m, 2h or 7d");
      case Kind::Size: return number(kSizes, "a size such as 10MB or 2GiB");
      case Kind::Date: return date(std::move(condition), given, wrong);
      case Kind::List:
        // A label is one of the list.
        if (condition.comparison == "=") condition.comparison = "contains";
        if (condition.comparison == "!=") condition.comparison = "notContains";
        condition.type = Type::Array;
        return condition;
      case Kind::Text: break;
    }
    if (column.column == "user" && to_lower(given.text) == "me") condition.value = json::value(speaker_.me);
    if (column.column == "archived")
      condition.value = to_lower(given.text) == "yes" || to_lower(given.text) == "true" ? "true" : "false";
    if (column.column == "state") return of_state(std::move(condition));
    return condition;
  }

  template <class Wrong>
  Result<Condition> date(Condition condition, const Token& given, const Wrong& wrong) const {
    condition.type = Type::Date;
    const bool day = given.text.size() == std::string_view("2026-03-01").size();
    if (parse_rfc3339(day ? given.text + "T00:00:00Z" : given.text)) {
      condition.value = json::value(day ? given.text + "T00:00:00Z" : given.text);
      return condition;
    }
    const auto back = with_unit(given.text, kDurations);
    if (!back) return wrong("a day such as 2026-03-01, a time of RFC 3339, or a duration such as 7d");
    condition.value = json::value(
        to_rfc3339(speaker_.now + -static_cast<std::int64_t>(*back * static_cast<double>(kSecond))));
    return condition;
  }

  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  const Speaker& speaker_;
};

}  // namespace

Result<Condition> parse_expression(std::string_view text, const Speaker& speaker) {
  if (text.size() > kLengthMax)
    return invalid_argument("filter has {} characters; at most {} are allowed", text.size(), kLengthMax);
  DET_TRY(auto tokens, tokens_of(text));
  if (tokens.size() == 1) return Condition{.join = Join::And};
  return Parser(std::move(tokens), speaker).parse();
}

}  // namespace det::master
