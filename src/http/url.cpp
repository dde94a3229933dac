#include "det/http/url.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
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

bool Url::is_loopback() const {
  boost::system::error_code name;
  const auto address = boost::asio::ip::make_address(host, name);
  return name ? host == "localhost" : address.is_loopback();
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

Result<std::vector<Url>> parse_urls(std::string_view text) {
  std::vector<Url> urls;
  for (const auto& part : split(text, ',')) {
    if (trim(part).empty() && text.find(',') != std::string_view::npos) continue;
    DET_TRY(auto url, parse_url(part));
    const auto same = [&](const Url& other) { return other.text() == url.text(); };
    if (std::none_of(urls.begin(), urls.end(), same)) urls.push_back(std::move(url));
  }
  if (urls.empty()) return invalid_argument("invalid master URL \"{}\"; it has no host", text);
  return urls;
}

std::string text_of(const std::vector<Url>& urls) {
  std::string text;
  for (const auto& url : urls) text += (text.empty() ? "" : ",") + url.text();
  return text;
}

Result<std::vector<Url>> parse_urls(std::string_view master, std::string_view all) {
  DET_TRY(auto urls, parse_urls(master));
  const auto others = parse_urls(all);
  if (!others || urls.size() > 1) return urls;
  const auto is_first = [first = urls.front().text()](const Url& url) { return url.text() == first; };
  if (std::none_of(others->begin(), others->end(), is_first)) return urls;
  for (const auto& url : *others)
    if (!is_first(url)) urls.push_back(url);
  return urls;
}

}  // namespace det::http
