#include "det/master/mlflow/search.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "det/base/text.h"

namespace det::master::mlflow {
namespace {

struct Token {
  enum class Kind { Word, Quoted, Sign, End } kind = Kind::End;
  std::string text;
};

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  Result<Token> next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    if (at_ == text_.size()) return Token{};
    const char c = text_[at_];
    if (c == '\'' || c == '"') {
      const auto end = text_.find(c, at_ + 1);
      if (end == std::string_view::npos)
        return invalid_argument("filter '{}': the quotation mark at character {} has no end", text_, at_ + 1);
      Token token{Token::Kind::Quoted, std::string(text_.substr(at_ + 1, end - at_ - 1))};
      at_ = end + 1;
      return token;
    }
    if (std::string_view("=!<>").find(c) != std::string_view::npos) {
      const auto length = at_ + 1 < text_.size() && text_[at_ + 1] == '=' ? 2U : 1U;
      Token token{Token::Kind::Sign, std::string(text_.substr(at_, length))};
      at_ += length;
      return token;
    }
    if (std::string_view("(),").find(c) != std::string_view::npos) {
      ++at_;
      return Token{Token::Kind::Sign, std::string(1, c)};
    }
    return word();
  }

  std::string_view all() const { return text_; }

 private:
  /// A name, with parts in backticks or quotation marks after a dot, or a number.
  Result<Token> word() {
    Token token{Token::Kind::Word, ""};
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '`' || (c == '"' && token.text.ends_with('.'))) {
        const auto end = text_.find(c, at_ + 1);
        if (end == std::string_view::npos)
          return invalid_argument("filter '{}': the quotation mark at character {} has no end", text_,
                                  at_ + 1);
        token.text += text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        continue;
      }
      if (std::isspace(static_cast<unsigned char>(c)) != 0 ||
          std::string_view("=!<>(),'").find(c) != std::string_view::npos)
        break;
      token.text += c;
      ++at_;
    }
    return token;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

Result<std::pair<Field, std::string>> parse_key(const std::string& text) {
  const auto dot = text.find('.');
  if (dot == std::string::npos) {
    if (text.empty()) return invalid_argument("a name is missing; give one such as metrics.loss");
    return std::pair(Field::Attribute, text);
  }
  const auto kind = to_lower(text.substr(0, dot));
  auto key = text.substr(dot + 1);
  if (kind == "metric" || kind == "metrics") return std::pair(Field::Metric, std::move(key));
  if (kind == "param" || kind == "params" || kind == "parameter" || kind == "parameters")
    return std::pair(Field::Param, std::move(key));
  if (kind == "tag" || kind == "tags") return std::pair(Field::Tag, std::move(key));
  if (kind == "attribute" || kind == "attributes" || kind == "attr" || kind == "run")
    return std::pair(Field::Attribute, std::move(key));
  return invalid_argument("'{}' is unknown; names begin with metrics., params., tags. or attributes.", text);
}

/// "%" is any text and "_" any character.
bool is_like(std::string_view text, std::string_view pattern) {
  std::size_t t = 0, p = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '%') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && (pattern[p] == '_' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '%') ++p;
  return p == pattern.size();
}

template <class T>
bool compares(const T& a, const std::string& op, const T& b) {
  if (op == "=" || op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == ">") return a > b;
  if (op == ">=") return a >= b;
  if (op == "<") return a < b;
  return op == "<=" && a <= b;
}

bool is_number(Field field, const std::string& key) {
  return field == Field::Metric ||
         (field == Field::Attribute &&
          (key == "start_time" || key == "end_time" || key == "creation_time" || key == "last_update_time"));
}

std::string canonical(const std::string& key) {
  if (key == "run_uuid") return "run_id";
  if (key == "run name" || key == "Run name" || key == "Run Name") return "run_name";
  if (key == "Created" || key == "created") return "start_time";
  return key;
}

std::optional<std::string> text_of(const Subject& subject, Field field, const std::string& key) {
  const auto* words = field == Field::Param ? subject.params
                      : field == Field::Tag ? subject.tags
                                            : &subject.attributes;
  if (words == nullptr) return std::nullopt;
  const auto found = words->find(key);
  return found == words->end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> number_in(const std::string& text) {
  double number = 0;
  const auto* end = text.data() + text.size();
  const auto [at, failure] = std::from_chars(text.data(), end, number);
  return failure == std::errc{} && at == end ? std::optional(number) : std::nullopt;
}

std::optional<double> number_of(const Subject& subject, Field field, const std::string& key) {
  if (field != Field::Metric) {
    const auto text = text_of(subject, field, key);
    return text ? number_in(*text) : std::nullopt;
  }
  if (subject.metrics == nullptr) return std::nullopt;
  const auto found = subject.metrics->find(key);
  return found == subject.metrics->end() ? std::nullopt : std::optional(found->second.value);
}

bool meets(const Condition& c, const Subject& subject) {
  if (is_number(c.field, c.key)) {
    const auto value = number_of(subject, c.field, c.key);
    if (c.op == "IS NULL" || c.op == "IS NOT NULL") return value.has_value() == (c.op == "IS NOT NULL");
    const auto wanted = number_in(c.values.front());
    return value && wanted && compares(*value, c.op, *wanted);
  }
  const auto value = text_of(subject, c.field, c.key);
  if (c.op == "IS NULL" || c.op == "IS NOT NULL") return value.has_value() == (c.op == "IS NOT NULL");
  if (!value) return false;
  if (c.op == "LIKE") return is_like(*value, c.values.front());
  if (c.op == "ILIKE") return is_like(to_lower(*value), to_lower(c.values.front()));
  const bool in = std::find(c.values.begin(), c.values.end(), *value) != c.values.end();
  if (c.op == "IN") return in;
  if (c.op == "NOT IN") return !in;
  return compares(*value, c.op, c.values.front());
}

Result<void> parse_list(Tokens& tokens, Condition& condition) {
  DET_TRY(auto token, tokens.next());
  if (token.text != "(") return invalid_argument("filter '{}': IN needs a list in parentheses", tokens.all());
  while (true) {
    DET_TRY(token, tokens.next());
    if (token.kind != Token::Kind::Quoted)
      return invalid_argument("filter '{}': a list has texts in quotation marks", tokens.all());
    condition.values.push_back(std::move(token.text));
    DET_TRY(token, tokens.next());
    if (token.text == ")") return {};
    if (token.text != ",")
      return invalid_argument("filter '{}': expected ',' or ')' in the list", tokens.all());
  }
}

/// The operator and what follows it.
Result<void> parse_rest(Tokens& tokens, Condition& condition) {
  DET_TRY(auto token, tokens.next());
  condition.op = upper(token.text);
  const auto wrong = [&] {
    return invalid_argument(
        "filter '{}': '{}' is no operator; use =, !=, >, >=, <, <=, LIKE, ILIKE, IN, NOT IN or IS NULL",
        tokens.all(), token.text);
  };
  if (condition.op == "IS") {
    DET_TRY(token, tokens.next());
    const bool negated = upper(token.text) == "NOT";
    if (negated) {
      DET_TRY(token, tokens.next());
    }
    if (upper(token.text) != "NULL") return wrong();
    condition.op = negated ? "IS NOT NULL" : "IS NULL";
    return {};
  }
  if (condition.op == "NOT") {
    DET_TRY(token, tokens.next());
    if (upper(token.text) != "IN") return wrong();
    condition.op = "NOT IN";
  }
  if (condition.op == "IN" || condition.op == "NOT IN") return parse_list(tokens, condition);
  static const std::vector<std::string> kKnown = {"=", "==", "!=", ">", ">=", "<", "<=", "LIKE", "ILIKE"};
  if (std::find(kKnown.begin(), kKnown.end(), condition.op) == kKnown.end()) return wrong();
  DET_TRY(token, tokens.next());
  if (is_number(condition.field, condition.key)) {
    if (token.kind == Token::Kind::End || !number_in(token.text))
      return invalid_argument("filter '{}': '{}' is compared with '{}'; it must be a number", tokens.all(),
                              condition.key, token.text);
  } else if (token.kind != Token::Kind::Quoted) {
    return invalid_argument("filter '{}': '{}' must be in quotation marks, because '{}' is a text",
                            tokens.all(), token.text, condition.key);
  }
  condition.values = {std::move(token.text)};
  return {};
}

}  // namespace

Result<std::vector<Condition>> parse_filter(std::string_view text) {
  std::vector<Condition> conditions;
  Tokens tokens(text);
  DET_TRY(auto token, tokens.next());
  while (token.kind != Token::Kind::End) {
    DET_TRY(auto key, parse_key(token.text));
    Condition condition{.field = key.first, .key = canonical(key.second), .op = "", .values = {}};
    DET_TRY(auto done, parse_rest(tokens, condition).map([] { return true; }));
    (void)done;
    conditions.push_back(std::move(condition));
    DET_TRY(token, tokens.next());
    if (token.kind == Token::Kind::End) break;
    if (upper(token.text) != "AND")
      return invalid_argument("filter '{}': '{}' is not understood; conditions are joined with AND", text,
                              token.text);
    DET_TRY(token, tokens.next());
    if (token.kind == Token::Kind::End)
      return invalid_argument("filter '{}': a condition is missing after AND", text);
  }
  return conditions;
}

bool matches(const std::vector<Condition>& conditions, const Subject& subject) {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const Condition& one) { return meets(one, subject); });
}

Result<Order> parse_order(std::string_view text) {
  auto rest = std::string(trim(text));
  Order order;
  for (const auto* word : {" DESC", " ASC"}) {
    const auto length = std::string_view(word).size();
    if (rest.size() <= length || upper(rest.substr(rest.size() - length)) != word) continue;
    order.descending = word == std::string_view(" DESC");
    rest = std::string(trim(std::string_view(rest).substr(0, rest.size() - length)));
    break;
  }
  Tokens tokens(rest);
  DET_TRY(auto token, tokens.next());
  DET_TRY(auto key, parse_key(token.text));
  order.field = key.first;
  order.key = canonical(key.second);
  return order;
}

bool goes_before(const std::vector<Order>& orders, const Subject& a, const Subject& b) {
  for (const auto& order : orders) {
    if (is_number(order.field, order.key)) {
      const auto of = [&](const Subject& s) {
        const auto value = number_of(s, order.field, order.key);
        return value && !std::isnan(*value) ? value : std::nullopt;
      };
      const auto left = of(a), right = of(b);
      if (left.has_value() != right.has_value()) return left.has_value();
      if (left && *left != *right) return order.descending ? *left > *right : *left < *right;
      continue;
    }
    const auto left = text_of(a, order.field, order.key), right = text_of(b, order.field, order.key);
    if (left.has_value() != right.has_value()) return left.has_value();
    if (left && *left != *right) return order.descending ? *left > *right : *left < *right;
  }
  return false;
}

}  // namespace det::master::mlflow
