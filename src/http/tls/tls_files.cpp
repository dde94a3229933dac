#include "det/http/tls/tls_files.h"

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <memory>

namespace det::http::test {

namespace {

struct Deleter {
  void operator()(X509* it) const { ::X509_free(it); }
  void operator()(EVP_PKEY* it) const { ::EVP_PKEY_free(it); }
  void operator()(std::FILE* it) const { std::fclose(it); }
};
template <class T>
using Owned = std::unique_ptr<T, Deleter>;

void add_extension(X509* certificate, X509* issuer, int kind, const std::string& text) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  auto* extension = ::X509V3_EXT_conf_nid(nullptr, &context, kind, text.c_str());
  ASSERT_NE(extension, nullptr) << text;
  ::X509_add_ext(certificate, extension, -1);
  ::X509_EXTENSION_free(extension);
}

Owned<X509> read_certificate(const std::string& file) {
  const Owned<std::FILE> in(std::fopen(file.c_str(), "r"));
  return Owned<X509>(::PEM_read_X509(in.get(), nullptr, nullptr, nullptr));
}
Owned<EVP_PKEY> read_key(const std::string& file) {
  const Owned<std::FILE> in(std::fopen(file.c_str(), "r"));
  return Owned<EVP_PKEY>(::PEM_read_PrivateKey(in.get(), nullptr, nullptr, nullptr));
}

}  // namespace

TlsFiles::TlsFiles() {
  std::string name = (std::filesystem::temp_directory_path() / "det-tls-XXXXXX").string();
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  directory_ = name;
  make("authority", {.names = "", .signed_by_authority = false});
}

TlsFiles::~TlsFiles() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void TlsFiles::write(const std::string& name, const std::string& text) const {
  std::ofstream(directory_ / name) << text;
}

void TlsFiles::make(const std::string& name, Wish wish) {
  static long serial = 0;
  const Owned<EVP_PKEY> own(EVP_EC_gen("P-256"));
  const Owned<X509> certificate(::X509_new());
  ::X509_set_version(certificate.get(), 2);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(certificate.get()), ++serial);
  ::X509_gmtime_adj(X509_getm_notBefore(certificate.get()), long{3600} * wish.valid_from_hours);
  ::X509_gmtime_adj(X509_getm_notAfter(certificate.get()), long{3600} * wish.valid_to_hours);
  ::X509_set_pubkey(certificate.get(), own.get());
  auto* subject = ::X509_get_subject_name(certificate.get());
  ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  Owned<X509> signer;
  Owned<EVP_PKEY> signing;
  if (wish.signed_by_authority) {
    signer = read_certificate(authority());
    signing = read_key(key("authority"));
  }
  auto* issuer = signer ? signer.get() : certificate.get();
  ::X509_set_issuer_name(certificate.get(), ::X509_get_subject_name(issuer));
  const bool is_authority = wish.names.empty() && !wish.signed_by_authority;
  add_extension(certificate.get(), issuer, NID_basic_constraints,
                is_authority ? "critical,CA:TRUE" : "CA:FALSE");
  add_extension(certificate.get(), issuer, NID_subject_key_identifier, "hash");
  if (!wish.names.empty()) add_extension(certificate.get(), issuer, NID_subject_alt_name, wish.names);
  ::X509_sign(certificate.get(), signing ? signing.get() : own.get(), ::EVP_sha256());

  const Owned<std::FILE> out(std::fopen(this->certificate(name).c_str(), "w"));
  ::PEM_write_X509(out.get(), certificate.get());
  const Owned<std::FILE> secret(std::fopen(key(name).c_str(), "w"));
  ::chmod(key(name).c_str(), 0600);
  ::PEM_write_PrivateKey(secret.get(), own.get(), nullptr, nullptr, 0, nullptr, nullptr);
}

std::shared_ptr<const TlsIdentity> TlsFiles::identity() {
  if (!std::filesystem::exists(certificate("server"))) make("server", {});
  auto loaded = TlsIdentity::load(certificate("server"), key("server"));
  EXPECT_TRUE(loaded) << loaded.error().message();
  return loaded ? *loaded : nullptr;
}

}  // namespace det::http::test
