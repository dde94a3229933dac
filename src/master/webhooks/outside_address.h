#pragma once

#include <array>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"

/// The addresses that the master calls at a user's request: those of the public Internet and those that the
/// operator allows. Otherwise a user could make the master call services that trust its network.
namespace det::master {

/// A range of addresses; those of IPv4 as ::ffff:a.b.c.d.
struct Network {
  std::array<std::uint8_t, 16> bytes{};
  int prefix = 128;
  bool contains(const boost::asio::ip::address& address) const;
};
/// "10.0.0.0/8", "fd00::/8" or one address.
Result<Network> parse_network(std::string_view text);

/// Why the master refuses to call `address`, such as "127.0.0.1 is a loopback address"; nothing if it does
/// not refuse.
std::optional<std::string> refusal(const boost::asio::ip::address& address,
                                   const std::vector<Network>& allowed);

/// Whether `url` is one to call: absolute, http or https, with a host and without user name and password.
/// An address that it names is checked at once, one behind a name (or an odd spelling) when it is called.
Result<void> check_outside_url(std::string_view url, const std::vector<Network>& allowed);

}  // namespace det::master
