#include "det/http/tls/self_signed.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <boost/asio/ip/address.hpp>
#include <cstring>
#include <memory>

namespace det::http {
namespace {

struct Deleter {
  void operator()(X509* it) const { ::X509_free(it); }
  void operator()(EVP_PKEY* it) const { ::EVP_PKEY_free(it); }
  void operator()(BIO* it) const { ::BIO_free(it); }
  void operator()(X509_EXTENSION* it) const { ::X509_EXTENSION_free(it); }
};
template <class T>
using Owned = std::unique_ptr<T, Deleter>;

bool add_extension(X509* certificate, int kind, const std::string& text) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension(::X509V3_EXT_conf_nid(nullptr, &context, kind, text.c_str()));
  return extension != nullptr && ::X509_add_ext(certificate, extension.get(), -1) == 1;
}

std::string text_of(BIO* memory) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(memory, &data);
  return {data, static_cast<std::size_t>(size)};
}

Result<void> write_private(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written =
      file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (file >= 0) ::close(file);
  if (!written) return fail(ErrorCode::Unavailable, "cannot write {}: {}", path, std::strerror(errno));
  return {};
}

}  // namespace

Result<void> make_self_signed(const std::string& certificate_file, const std::string& key_file,
                              const std::vector<std::string>& names) {
  constexpr long kSeconds = long{10} * 365 * 24 * 3600;
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<X509> certificate(::X509_new());
  long serial = 0;
  if (!key || !certificate || ::RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1)
    return fail(ErrorCode::Unavailable, "OpenSSL cannot make a key");
  ::X509_set_version(certificate.get(), 2);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(certificate.get()), serial & 0x7fffffff);
  ::X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  ::X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kSeconds);
  ::X509_set_pubkey(certificate.get(), key.get());
  auto* subject = ::X509_get_subject_name(certificate.get());
  ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("Determined master"), -1, -1, 0);
  ::X509_set_issuer_name(certificate.get(), subject);
  std::vector<std::string> alternatives;
  for (const auto& name : names) {
    boost::system::error_code not_an_address;
    boost::asio::ip::make_address(name, not_an_address);
    alternatives.push_back((not_an_address ? "DNS:" : "IP:") + name);
  }
  const bool fine = add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE") &&
                    add_extension(certificate.get(), NID_subject_key_identifier, "hash") &&
                    add_extension(certificate.get(), NID_subject_alt_name,
                                  fmt::format("{}", fmt::join(alternatives, ","))) &&
                    ::X509_sign(certificate.get(), key.get(), ::EVP_sha256()) > 0;
  if (!fine) return invalid_argument("cannot make a certificate for {}", fmt::join(names, ", "));
  const Owned<BIO> secret(::BIO_new(::BIO_s_mem())), open(::BIO_new(::BIO_s_mem()));
  ::PEM_write_bio_PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  ::PEM_write_bio_X509(open.get(), certificate.get());
  DET_TRY([[maybe_unused]] const auto kept,
          write_private(key_file, text_of(secret.get())).map([] { return true; }));
  return write_private(certificate_file, text_of(open.get()));
}

}  // namespace det::http
