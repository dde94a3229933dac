#pragma once

#include <array>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"

/// Which addresses the master calls because a user said so: those of the public Internet, and those that its
/// operator allowed. Else whoever may make a webhook could have the master ask services that trust its
/// network.
namespace det::master {

/// A range of addresses; those of IPv4 as ::ffff:a.b.c.d.
struct Network {
  std::array<std::uint8_t, 16> bytes{};
  int prefix = 128;
  bool contains(const boost::asio::ip::address& address) const;
};
/// "10.0.0.0/8", "fd00::/8" or one address.
Result<Network> parse_network(std::string_view text);

/// Why the master does not call `address`: "127.0.0.1 is a loopback address"; nothing: it does.
std::optional<std::string> refusal(const boost::asio::ip::address& address,
                                   const std::vector<Network>& allowed);

/// Whether `url` is one to call: absolute, http or https, with a host and without user name and password.
/// An address that it names is checked at once, one behind a name (or an odd spelling) when it is called.
Result<void> check_outside_url(std::string_view url, const std::vector<Network>& allowed);

}  // namespace det::master
