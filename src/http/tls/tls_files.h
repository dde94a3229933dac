#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "det/http/tls/tls.h"

/// Certificates for tests: made when they are asked for, gone with the directory.
namespace det::http::test {

class TlsFiles {
 public:
  TlsFiles();
  ~TlsFiles();
  TlsFiles(const TlsFiles&) = delete;
  TlsFiles& operator=(const TlsFiles&) = delete;

  struct Wish {
    std::string names = "DNS:localhost,IP:127.0.0.1";  ///< subjectAltName; empty: none
    int valid_from_hours = -1;
    int valid_to_hours = 24;
    bool signed_by_authority = true;  ///< false: by itself
  };
  /// Files NAME.crt and NAME.key; the key readable for its owner alone.
  void make(const std::string& name, Wish wish);
  std::string certificate(const std::string& name) const { return (directory_ / (name + ".crt")).string(); }
  std::string key(const std::string& name) const { return (directory_ / (name + ".key")).string(); }
  std::string authority() const { return certificate("authority"); }
  std::string file(const std::string& name) const { return (directory_ / name).string(); }
  void write(const std::string& name, const std::string& text) const;

  /// A server's identity for localhost, signed by the authority.
  std::shared_ptr<const TlsIdentity> identity();

 private:
  std::filesystem::path directory_;
};

}  // namespace det::http::test
