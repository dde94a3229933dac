#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"

namespace det::http {

/// What a server shows to its clients: a certificate with its chain, and the key to it.
class TlsIdentity {
 public:
  /// Reads two files in PEM form. The error is a sentence for who started the program: a file that is missing
  /// or holds something else, a key that everybody may read, that has a password or belongs to another
  /// certificate, a certificate that has expired or is not valid yet.
  static Result<std::shared_ptr<const TlsIdentity>> load(const std::string& certificate_file,
                                                         const std::string& key_file);
  ~TlsIdentity();
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  /// Whom the certificate is for: DNS names and IP addresses.
  const std::vector<std::string>& names() const { return names_; }
  std::int64_t expires() const { return expires_; }  ///< Unix seconds

 private:
  friend class TlsSession;
  TlsIdentity() = default;
  void* context_ = nullptr;  // SSL_CTX
  std::vector<std::string> names_;
  std::int64_t expires_ = 0;
};

/// Whom a client believes. Verification is on unless it is switched off by hand.
struct Trust {
  std::string file;    ///< Certificates in PEM form that alone count; empty: the system's authorities.
  std::string name;    ///< Whom the certificate must be for; empty: the host of the address.
  bool verify = true;  ///< False: any certificate will do, and anybody may listen in.

  /// As DET_MASTER_CERT_FILE (a file, or `noverify`) and DET_MASTER_CERT_NAME say it.
  static Trust from(std::string file_or_noverify, std::string name);
  /// The same of the process's environment.
  static Trust from_environment();
};

/// Certificates to check others with, read once.
class TlsTrust {
 public:
  static Result<std::shared_ptr<const TlsTrust>> load(Trust trust);
  ~TlsTrust();
  TlsTrust(const TlsTrust&) = delete;
  TlsTrust& operator=(const TlsTrust&) = delete;
  const Trust& trust() const { return trust_; }

 private:
  friend class TlsSession;
  TlsTrust() = default;
  void* context_ = nullptr;  // SSL_CTX
  Trust trust_;
};

/// One connection's encryption, with no socket of its own: bytes of the network go in and come out.
///
/// `put` what arrives, send what `take_output` gives, in this order for as long as `handshake` wants more;
/// then `read` and `write` what is said.
class TlsSession {
 public:
  /// The server's side.
  explicit TlsSession(std::shared_ptr<const TlsIdentity> identity);
  /// The client's, of a connection to `host`.
  TlsSession(std::shared_ptr<const TlsTrust> trust, const std::string& host);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  enum class Step { Done, WantsMore, Ended, Failed };

  void put(std::string_view bytes);  ///< what arrived
  /// Ciphertext that has to be sent, each byte given once.
  std::string take_output();
  bool has_output() const { return !output_.empty(); }

  Step handshake();
  /// At most `room` bytes of what the other side says. Ended: it has said that it says no more.
  Step read(char* to, std::size_t room, std::size_t& count);
  /// Encrypts a piece of the front; how much. 0: it failed.
  std::size_t write(std::string_view bytes);
  /// Tells the other side that we say no more. Needs: the handshake is done.
  void end();

  /// Why it failed: goes on after the other side's name ("showed a certificate …").
  const std::string& fault() const { return fault_; }
  /// The fault is in who the other side is; trying again will not help.
  bool untrusted() const { return untrusted_; }

 private:
  void begin(void* context);
  Step step_of(int outcome);
  void explain();

  friend struct TlsBytes;
  std::shared_ptr<const TlsIdentity> identity_;
  std::shared_ptr<const TlsTrust> trust_;
  void* ssl_ = nullptr;
  std::string input_;
  std::size_t input_at_ = 0;
  std::string output_;
  std::string expected_name_;
  std::string refused_;  // the fingerprint of a certificate
  std::string fault_;
  bool untrusted_ = false;
  bool done_ = false;
  bool ended_ = false;
};

}  // namespace det::http
