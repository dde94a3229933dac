#include "det/master/webhooks/outside_address.h"

#include <algorithm>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include "det/base/text.h"

namespace det::master {
namespace {

namespace ip = boost::asio::ip;

struct Reserved {
  const char* network;
  const char* what;
};

// The registries of special addresses (RFC 6890 and what came later), as far as they are not for everybody.
constexpr Reserved kReserved[] = {
    {"0.0.0.0/8", "an address of this machine"},
    {"10.0.0.0/8", "a private address"},
    {"100.64.0.0/10", "a shared address of a provider"},
    {"127.0.0.0/8", "a loopback address"},
    {"169.254.0.0/16", "a link-local address"},
    {"172.16.0.0/12", "a private address"},
    {"192.0.0.0/24", "a reserved address"},
    {"192.0.2.0/24", "an address for documentation"},
    {"192.88.99.0/24", "a reserved address"},
    {"192.168.0.0/16", "a private address"},
    {"198.18.0.0/15", "an address for benchmarks"},
    {"198.51.100.0/24", "an address for documentation"},
    {"203.0.113.0/24", "an address for documentation"},
    {"224.0.0.0/4", "a multicast address"},
    {"240.0.0.0/4", "a reserved address"},
    {"::/128", "an address of this machine"},
    {"::1/128", "a loopback address"},
    {"fe80::/10", "a link-local address"},
    {"fc00::/7", "a private address"},
    {"ff00::/8", "a multicast address"},
    {"2001::/23", "a reserved address"},
    {"2001:db8::/32", "an address for documentation"},
    {"2002::/16", "an address of a tunnel (6to4)"},
    {"3fff::/20", "an address for documentation"},
};

ip::address_v6::bytes_type bytes_of(const ip::address& address) {
  return address.is_v6() ? address.to_v6().to_bytes()
                         : ip::make_address_v6(ip::v4_mapped, address.to_v4()).to_bytes();
}

/// The IPv4 address within, of those forms that lead to it.
std::optional<ip::address_v4> embedded(const ip::address& address) {
  if (address.is_v4()) return address.to_v4();
  const auto bytes = bytes_of(address);
  static constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  static constexpr std::array<std::uint8_t, 12> kTranslated{0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0};
  const bool leads = std::equal(kMapped.begin(), kMapped.end(), bytes.begin()) ||
                     std::equal(kTranslated.begin(), kTranslated.end(), bytes.begin());
  if (!leads) return std::nullopt;
  return ip::address_v4({bytes[12], bytes[13], bytes[14], bytes[15]});
}

const std::vector<std::pair<Network, const char*>>& reserved() {
  static const auto table = [] {
    std::vector<std::pair<Network, const char*>> made;
    for (const auto& [network, what] : kReserved) made.emplace_back(*parse_network(network), what);
    return made;
  }();
  return table;
}

bool any_contains(const std::vector<Network>& networks, const ip::address& address) {
  return std::any_of(networks.begin(), networks.end(), [&](const auto& n) { return n.contains(address); });
}

}  // namespace

bool Network::contains(const ip::address& address) const {
  const auto other = bytes_of(address);
  for (int bit = 0; bit < prefix; ++bit) {
    const auto at = static_cast<std::size_t>(bit / 8);
    const auto mask = static_cast<std::uint8_t>(0x80U >> (bit % 8));
    if ((bytes[at] & mask) != (other[at] & mask)) return false;
  }
  return true;
}

Result<Network> parse_network(std::string_view text) {
  const auto slash = text.find('/');
  boost::system::error_code wrong;
  const auto address = ip::make_address(std::string(text.substr(0, slash)), wrong);
  const int longest = !wrong && address.is_v4() ? 32 : 128;
  int prefix = longest;
  if (slash != std::string_view::npos) {
    const std::string digits(text.substr(slash + 1));
    const bool number =
        !digits.empty() && digits.size() <= 3 &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    prefix = number ? std::stoi(digits) : -1;
  }
  if (wrong || prefix < 0 || prefix > longest)
    return invalid_argument(
        "'{}' is not a range of addresses; use one such as 10.0.0.0/8, fd00::/8 or 127.0.0.1", text);
  return Network{bytes_of(address), prefix + (128 - longest)};
}

std::optional<std::string> refusal(const ip::address& address, const std::vector<Network>& allowed) {
  const auto inner = embedded(address);
  if (any_contains(allowed, address) || (inner && any_contains(allowed, *inner))) return std::nullopt;
  for (const auto& [network, what] : reserved())
    if (network.contains(inner ? ip::address(*inner) : address))
      return fmt::format("{} is {}", address.to_string(), what);
  static const auto global = *parse_network("2000::/3");
  if (!inner && !global.contains(address))
    return fmt::format("{} is not an address of the Internet", address.to_string());
  return std::nullopt;
}

Result<void> check_outside_url(std::string_view url, const std::vector<Network>& allowed) {
  const auto wrong = [&](std::string_view rule) {
    return invalid_argument("invalid URL \"{}\"; {}", url, rule);
  };
  if (url.size() > 8192)
    return invalid_argument("the URL has {} bytes; at most 8192 are allowed", url.size());
  const auto parsed = boost::urls::parse_uri(url);
  if (!parsed) return wrong("it must be absolute, such as https://example.com/hook");
  const auto scheme = to_lower(std::string(parsed->scheme()));
  if (scheme != "http" && scheme != "https") return wrong("it must begin with http:// or https://");
  if (parsed->encoded_host().empty()) return wrong("it has no host");
  if (parsed->has_userinfo()) return wrong("it must not contain a user name or password");
  boost::system::error_code is_name;
  const auto address = ip::make_address(parsed->host_address(), is_name);
  if (is_name) return {};
  if (const auto why = refusal(address, allowed))
    return invalid_argument(
        "invalid URL \"{}\"; {}, which the master calls only if webhooks.allowed_addresses in its "
        "configuration allows it",
        url, *why);
  return {};
}

}  // namespace det::master
