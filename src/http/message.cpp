#include "det/http/message.h"

#include <algorithm>
#include <cctype>

#include "det/base/text.h"

namespace det::http {

namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

}  // namespace

std::string camel_case(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  bool upper = false;
  for (const char c : name) {
    if (c == '_' && !out.empty()) {
      upper = true;
      continue;
    }
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return out;
}

void Headers::set(std::string name, std::string value) {
  erase(name);
  add(std::move(name), std::move(value));
}

void Headers::erase(std::string_view name) {
  std::erase_if(fields_, [&](const auto& field) { return equal_ignoring_case(field.first, name); });
}

const std::string* Headers::find(std::string_view name) const {
  for (const auto& [key, value] : fields_)
    if (equal_ignoring_case(key, name)) return &value;
  return nullptr;
}

Result<Query> Query::parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const auto pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    const auto name = decode(pair.substr(0, equals), true);
    const auto value = equals == std::string_view::npos ? std::optional<std::string>("")
                                                        : decode(pair.substr(equals + 1), true);
    if (!name || !value) return invalid_argument("the query has an invalid percent escape in \"{}\"", pair);
    std::string flat = *name;  // "idFilter.lte" is a member of a member, and here one of the struct itself
    std::replace(flat.begin(), flat.end(), '.', '_');
    query.add(flat, *value);
  }
  return query;
}

const std::string* Query::find(std::string_view name) const {
  const auto& values = all(name);
  return values.empty() ? nullptr : &values.back();
}

const std::vector<std::string>& Query::all(std::string_view name) const {
  static const std::vector<std::string> kNone;
  const auto found = values_.find(camel_case(name));
  return found == values_.end() ? kNone : found->second;
}

std::optional<std::string> percent_decode(std::string_view text) {
  return decode(text, false);
}

std::optional<std::string> cookie(const Request& request, std::string_view name) {
  for (const auto& [field, value] : request.headers) {
    if (!equal_ignoring_case(field, "cookie")) continue;
    for (const auto& pair : split(value, ';')) {
      const auto text = trim(pair);
      const auto equals = text.find('=');
      if (equals != std::string_view::npos && text.substr(0, equals) == name)
        return std::string(text.substr(equals + 1));
    }
  }
  return std::nullopt;
}

std::optional<std::string> bearer_token(const Request& request) {
  for (const auto* name :
       {"authorization", "grpc-metadata-x-user-token", "grpc-metadata-x-allocation-token"}) {
    const auto* value = request.headers.find(name);
    if (value == nullptr) continue;
    constexpr std::string_view kScheme = "bearer ";
    const std::string_view text = *value;
    if (text.size() > kScheme.size() && equal_ignoring_case(text.substr(0, kScheme.size()), kScheme))
      return std::string(trim(text.substr(kScheme.size())));
  }
  return cookie(request, "auth");
}

}  // namespace det::http
