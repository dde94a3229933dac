#include "det/http/url.h"

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include "det/base/text.h"

namespace det::http {

std::string Url::authority() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port);
}

std::string Url::text() const {
  return (tls ? "https://" : "http://") + authority() + prefix;
}

Result<Url> parse_url(std::string_view text) {
  const auto wrong = [&](std::string_view rule) {
    return invalid_argument("invalid master URL \"{}\"; {}", text, rule);
  };
  std::string whole(trim(text));
  const auto scheme_end = whole.find("://");
  const bool has_scheme = scheme_end != std::string::npos;
  const auto scheme = has_scheme ? to_lower(whole.substr(0, scheme_end)) : "http";
  if (scheme != "http" && scheme != "https")
    return wrong("it must begin with http:// or https://, or name only host and port");
  if (!has_scheme) whole.insert(0, "http://");

  const auto parsed = boost::urls::parse_uri(whole);
  if (!parsed) return wrong("it must look like http://host:8080");
  if (parsed->has_userinfo()) return wrong("it must not contain a user name or password");
  if (parsed->has_query() || parsed->has_fragment()) return wrong("it must not contain a query or fragment");
  Url url;
  url.host = parsed->host_address();
  if (url.host.empty()) return wrong("it has no host");
  url.tls = scheme == "https";
  url.port = !has_scheme ? 8080 : url.tls ? 443 : 80;
  if (parsed->has_port() && !parsed->port().empty()) {
    const std::string digits = parsed->port();
    const long port = digits.size() > 5 ? 0 : std::stol(digits);
    if (port < 1 || port > 65535) return wrong("its port must be from 1 to 65535");
    url.port = static_cast<std::uint16_t>(port);
  }
  url.prefix = parsed->encoded_path();
  if (!url.prefix.empty() && url.prefix.front() != '/') return wrong("its port must be a number");
  while (url.prefix.ends_with('/')) url.prefix.pop_back();
  return url;
}

}  // namespace det::http
