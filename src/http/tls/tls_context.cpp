#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdlib>
#include <ctime>

#include "det/base/text.h"
#include "det/http/tls/tls.h"

namespace det::http {

namespace {

// TLS 1.2 only with forward secrecy and authenticated encryption; 1.3 has nothing else.
constexpr const char* kCiphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

/// Why OpenSSL failed last; empties its list.
std::string reason() {
  const auto code = ::ERR_peek_last_error();
  ::ERR_clear_error();
  const char* text = code == 0 ? nullptr : ::ERR_reason_error_string(code);
  return text == nullptr ? "no reason given" : text;
}

int no_password(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return 0;
}

SSL_CTX* new_context(const SSL_METHOD* method) {
  auto* context = ::SSL_CTX_new(method);
  if (context == nullptr) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  ::SSL_CTX_set_cipher_list(context, kCiphers);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return context;
}

std::vector<std::string> names_of(X509* certificate) {
  std::vector<std::string> names;
  auto* all =
      static_cast<GENERAL_NAMES*>(::X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const auto* name = sk_GENERAL_NAME_value(all, i);
    if (name->type == GEN_DNS) {
      const auto* text = reinterpret_cast<const char*>(::ASN1_STRING_get0_data(name->d.dNSName));
      names.emplace_back(text, static_cast<std::size_t>(::ASN1_STRING_length(name->d.dNSName)));
    } else if (name->type == GEN_IPADD) {
      const int length = ::ASN1_STRING_length(name->d.iPAddress);
      char text[INET6_ADDRSTRLEN] = "";
      const int family = length == 4 ? AF_INET : AF_INET6;
      if ((length == 4 || length == 16) &&
          ::inet_ntop(family, ::ASN1_STRING_get0_data(name->d.iPAddress), text, sizeof text) != nullptr)
        names.emplace_back(text);
    }
  }
  ::GENERAL_NAMES_free(all);
  return names;
}

std::int64_t seconds_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (::ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return ::timegm(&parts);
}

std::string day_of(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

/// Whether the file is there, is a file and may be read; of a key, that not everybody may.
Result<void> check_file(const std::string& file, std::string_view what, bool secret) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0)
    return invalid_argument("the {} {} cannot be read: {}", what, file, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return invalid_argument("the {} {} is not a file", what, file);
  if (secret && (status.st_mode & S_IRWXO) != 0)
    return failed_precondition(
        "the {} {} can be read by every user of this machine (mode {:o}); run 'chmod o= {}' and, because "
        "others may have read it, create a new one",
        what, file, status.st_mode & 07777, file);
  if (::access(file.c_str(), R_OK) != 0)
    return invalid_argument("the {} {} cannot be read: {}", what, file, std::strerror(errno));
  return {};
}

}  // namespace

Result<std::shared_ptr<const TlsIdentity>> TlsIdentity::load(const std::string& certificate_file,
                                                             const std::string& key_file) {
  DET_TRY([[maybe_unused]] const auto readable,
          check_file(certificate_file, "TLS certificate", false).map([] { return true; }));
  DET_TRY([[maybe_unused]] const auto secret, check_file(key_file, "TLS key", true).map([] { return true; }));
  std::shared_ptr<TlsIdentity> identity(new TlsIdentity);
  auto* context = new_context(::TLS_server_method());
  identity->context_ = context;
  ::ERR_clear_error();
  if (::SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1)
    return invalid_argument("{} is not a usable TLS certificate in PEM format ({})", certificate_file,
                            reason());
  bool has_password = false;
  ::SSL_CTX_set_default_passwd_cb(context, no_password);
  ::SSL_CTX_set_default_passwd_cb_userdata(context, &has_password);
  const bool taken = ::SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) == 1;
  ::SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
  if (has_password)
    return invalid_argument(
        "the TLS key {} is encrypted with a password; the master needs an unencrypted key: 'openssl pkey -in "
        "{} -out "
        "KEY'",
        key_file, key_file);
  const auto why = taken ? std::string() : reason();
  if (!taken && why.find("mismatch") == std::string::npos)
    return invalid_argument("{} is not a usable private key in PEM format ({})", key_file, why);
  if (!taken || ::SSL_CTX_check_private_key(context) != 1) {
    ::ERR_clear_error();
    return invalid_argument("the TLS key {} does not belong to the certificate {}", key_file,
                            certificate_file);
  }
  auto* certificate = ::SSL_CTX_get0_certificate(context);
  const auto begins = seconds_of(::X509_get0_notBefore(certificate));
  identity->expires_ = seconds_of(::X509_get0_notAfter(certificate));
  const auto now = static_cast<std::int64_t>(std::time(nullptr));
  if (identity->expires_ <= now)
    return failed_precondition(
        "the TLS certificate {} expired on {}; renew it, because clients no longer accept it",
        certificate_file, day_of(identity->expires_));
  if (begins > now)
    return failed_precondition("the TLS certificate {} is not valid before {}; clients do not accept it yet",
                               certificate_file, day_of(begins));
  identity->names_ = names_of(certificate);
  if (identity->names_.empty())
    return invalid_argument(
        "the TLS certificate {} names no host: it needs a subjectAltName such as DNS:master.example.com or "
        "IP:10.0.0.1",
        certificate_file);
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  ::SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>("det"), 3);
  return std::shared_ptr<const TlsIdentity>(std::move(identity));
}

TlsIdentity::~TlsIdentity() {
  ::SSL_CTX_free(static_cast<SSL_CTX*>(context_));
}

Trust Trust::from(std::string file_or_noverify, std::string name) {
  Trust trust;
  trust.name = std::move(name);
  if (file_or_noverify == "noverify")
    trust.verify = false;
  else
    trust.file = std::move(file_or_noverify);
  return trust;
}

Trust Trust::from_environment() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
  };
  return from(variable("DET_MASTER_CERT_FILE"), variable("DET_MASTER_CERT_NAME"));
}

Result<std::shared_ptr<const TlsTrust>> TlsTrust::load(Trust trust) {
  std::shared_ptr<TlsTrust> out(new TlsTrust);
  auto* context = new_context(::TLS_client_method());
  out->context_ = context;
  ::ERR_clear_error();
  if (!trust.verify) {
    ::SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
  } else {
    ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    // A file with the master's own certificate is enough, whoever signed it.
    ::X509_VERIFY_PARAM_set_flags(::SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
    if (trust.file.empty()) {
      ::SSL_CTX_set_default_verify_paths(context);
    } else {
      DET_TRY([[maybe_unused]] const auto readable,
              check_file(trust.file, "certificate file", false).map([] { return true; }));
      if (::SSL_CTX_load_verify_locations(context, trust.file.c_str(), nullptr) != 1)
        return invalid_argument(
            "the certificate file {}, given by DET_MASTER_CERT_FILE, has no certificate in PEM format ({})",
            trust.file, reason());
    }
  }
  out->trust_ = std::move(trust);
  return std::shared_ptr<const TlsTrust>(std::move(out));
}

TlsTrust::~TlsTrust() {
  ::SSL_CTX_free(static_cast<SSL_CTX*>(context_));
}

}  // namespace det::http
