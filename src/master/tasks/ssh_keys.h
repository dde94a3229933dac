#pragma once

#include <string>

namespace det::master {

/// A new Ed25519 key pair, as OpenSSH reads it.
struct SshKeys {
  std::string public_key;   ///< "ssh-ed25519 AAAA… COMMENT", a line of authorized_keys
  std::string private_key;  ///< "-----BEGIN OPENSSH PRIVATE KEY-----…", without a passphrase
};
SshKeys make_ssh_keys(const std::string& comment);

}  // namespace det::master
