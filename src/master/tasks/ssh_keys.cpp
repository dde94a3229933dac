#include "det/master/tasks/ssh_keys.h"

#include <sodium.h>

#include <cstdint>
#include <string_view>

#include "det/base/text.h"

namespace det::master {
namespace {

constexpr std::string_view kType = "ssh-ed25519";
constexpr std::size_t kBlock = 8;  // what the private half is padded to
constexpr std::size_t kColumns = 70;

void put_number(std::string& out, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 0xFF);
}

void put_string(std::string& out, std::string_view text) {
  put_number(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

}  // namespace

SshKeys make_ssh_keys(const std::string& comment) {
  std::string verifying(crypto_sign_PUBLICKEYBYTES, '\0'), signing(crypto_sign_SECRETKEYBYTES, '\0');
  crypto_sign_keypair(reinterpret_cast<unsigned char*>(verifying.data()),
                      reinterpret_cast<unsigned char*>(signing.data()));
  std::string open_half;
  put_string(open_half, kType);
  put_string(open_half, verifying);

  // The same number twice, by which a reader sees that a passphrase was right; there is none.
  const auto check = randombytes_random();
  std::string secret_half;
  put_number(secret_half, check);
  put_number(secret_half, check);
  put_string(secret_half, kType);
  put_string(secret_half, verifying);
  put_string(secret_half, signing);
  put_string(secret_half, comment);
  for (char pad = 1; secret_half.size() % kBlock != 0; ++pad) secret_half += pad;

  std::string file("openssh-key-v1\0", 15);
  put_string(file, "none");  // cipher
  put_string(file, "none");  // how its key is derived
  put_string(file, "");
  put_number(file, 1);  // keys
  put_string(file, open_half);
  put_string(file, secret_half);

  SshKeys keys;
  keys.public_key = std::string(kType) + " " + base64_encode(open_half) + " " + comment;
  keys.private_key = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
  const auto text = base64_encode(file);
  for (std::size_t at = 0; at < text.size(); at += kColumns)
    keys.private_key += text.substr(at, kColumns) + "\n";
  keys.private_key += "-----END OPENSSH PRIVATE KEY-----\n";
  return keys;
}

}  // namespace det::master
