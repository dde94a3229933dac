#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "det/base/error.h"

/// How this machine is reached by others, and which way leads to them.
namespace det::pytorch {

bool is_loopback(const std::string& address);

/// The own address from which packets go to `host`.
Result<std::string> source_address(const std::string& host);
/// The network interface whose address that is; empty where none has it.
std::string interface_towards(const std::string& host);
/// Where this machine is reached by those who reach `host` as it does: first the address that it is reached
/// from.
Result<std::vector<std::string>> own_addresses(const std::string& host);

/// Tells this machine, as it was booted, from others.
std::string machine_name();

/// "10.0.0.5:40211", "[fe80::1]:40211", "127.0.0.1:40211@<machine>": a loopback address means something there
/// only.
std::string address_text(const std::string& host, std::uint16_t port);
struct Address {
  std::string host;
  std::uint16_t port = 0;
  bool here = true;  ///< Whether it means anything on this machine.
};
Result<Address> parse_address(const std::string& text);

/// A listening socket on a port that the kernel chooses; on the loopback only where no other machine needs
/// it.
struct Listener {
  int socket = -1;
  std::uint16_t port = 0;
};
Result<Listener> listen_for_ranks(bool outward);

/// Whether something listens there.
bool answers(const std::string& host, std::uint16_t port, int milliseconds);

}  // namespace det::pytorch
