#include "det/http/tls/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/asio/ip/address.hpp>
#include <cstring>

namespace det::http {

namespace {

constexpr std::size_t kRecordBytes = 16 * 1024;

SSL* of(void* ssl) {
  return static_cast<SSL*>(ssl);
}

bool is_address(const std::string& host) {
  boost::system::error_code failure;
  boost::asio::ip::make_address(host, failure);
  return !failure;
}

std::string fingerprint(X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  if (certificate == nullptr || ::X509_digest(certificate, ::EVP_sha256(), digest, &length) != 1) return "";
  std::string out;
  for (unsigned int i = 0; i < length; ++i) out += fmt::format("{}{:02X}", i == 0 ? "" : ":", digest[i]);
  return out;
}

}  // namespace

/// The session's two strings as OpenSSL's idea of a connection.
struct TlsBytes {
  static int write(BIO* bio, const char* bytes, int count) {
    auto* session = static_cast<TlsSession*>(::BIO_get_data(bio));
    session->output_.append(bytes, static_cast<std::size_t>(count));
    return count;
  }

  static int read(BIO* bio, char* to, int room) {
    auto* session = static_cast<TlsSession*>(::BIO_get_data(bio));
    ::BIO_clear_retry_flags(bio);
    auto& input = session->input_;
    const auto count = std::min(input.size() - session->input_at_, static_cast<std::size_t>(room));
    if (count == 0) {
      ::BIO_set_retry_read(bio);
      return -1;
    }
    std::memcpy(to, input.data() + session->input_at_, count);
    session->input_at_ += count;
    if (session->input_at_ == input.size()) {
      input.clear();
      if (input.capacity() > kRecordBytes) input.shrink_to_fit();
      session->input_at_ = 0;
    }
    return static_cast<int>(count);
  }

  static long control(BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1 : 0; }

  static int create(BIO* bio) {
    ::BIO_set_init(bio, 1);
    return 1;
  }

  static BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
      auto* method = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "det");
      ::BIO_meth_set_write(method, write);
      ::BIO_meth_set_read(method, read);
      ::BIO_meth_set_ctrl(method, control);
      ::BIO_meth_set_create(method, create);
      return method;
    }();
    return made;
  }
};

namespace {

// Remembers which certificate was refused: OpenSSL itself forgets it.
int on_verified(int fine, X509_STORE_CTX* chain) {
  if (fine == 1) return fine;
  auto* ssl = static_cast<SSL*>(::X509_STORE_CTX_get_ex_data(chain, ::SSL_get_ex_data_X509_STORE_CTX_idx()));
  *static_cast<std::string*>(SSL_get_app_data(ssl)) = fingerprint(::X509_STORE_CTX_get0_cert(chain));
  return fine;
}

}  // namespace

void TlsSession::begin(void* context) {
  auto* ssl = ::SSL_new(static_cast<SSL_CTX*>(context));
  auto* bytes = ::BIO_new(TlsBytes::method());
  if (ssl == nullptr || bytes == nullptr) throw std::bad_alloc();
  ssl_ = ssl;
  ::BIO_set_data(bytes, this);
  ::SSL_set_bio(ssl, bytes, bytes);
}

TlsSession::TlsSession(std::shared_ptr<const TlsIdentity> identity) : identity_(std::move(identity)) {
  begin(identity_->context_);
  ::SSL_set_accept_state(of(ssl_));
}

TlsSession::TlsSession(std::shared_ptr<const TlsTrust> trust, const std::string& host)
    : trust_(std::move(trust)) {
  begin(trust_->context_);
  auto* ssl = of(ssl_);
  ::SSL_set_connect_state(ssl);
  SSL_set_app_data(ssl, &refused_);
  if (trust_->trust().verify) ::SSL_set_verify(ssl, SSL_VERIFY_PEER, on_verified);
  expected_name_ = trust_->trust().name.empty() ? host : trust_->trust().name;
  if (!is_address(expected_name_)) {
    SSL_set_tlsext_host_name(ssl, expected_name_.c_str());
    ::SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    ::SSL_set1_host(ssl, expected_name_.c_str());
  } else {
    ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl), expected_name_.c_str());
  }
}

TlsSession::~TlsSession() {
  ::SSL_free(of(ssl_));
}

void TlsSession::put(std::string_view bytes) {
  if (input_at_ > 0) input_.erase(0, std::exchange(input_at_, 0));
  input_ += bytes;
}

std::string TlsSession::take_output() {
  return std::exchange(output_, std::string());
}

TlsSession::Step TlsSession::handshake() {
  if (done_) return Step::Done;
  if (!fault_.empty()) return Step::Failed;
  ::ERR_clear_error();
  const int outcome = ::SSL_do_handshake(of(ssl_));
  done_ = outcome == 1;
  return done_ ? Step::Done : step_of(outcome);
}

TlsSession::Step TlsSession::read(char* to, std::size_t room, std::size_t& count) {
  count = 0;
  if (!fault_.empty()) return Step::Failed;
  ::ERR_clear_error();
  const int outcome = ::SSL_read_ex(of(ssl_), to, room, &count);
  return outcome == 1 ? Step::Done : step_of(outcome);
}

std::size_t TlsSession::write(std::string_view bytes) {
  if (!done_ || ended_ || !fault_.empty()) return 0;
  std::size_t count = 0;
  ::ERR_clear_error();
  const int outcome = ::SSL_write_ex(of(ssl_), bytes.data(), std::min(bytes.size(), kRecordBytes), &count);
  if (outcome == 1) return count;
  step_of(outcome);
  return 0;
}

void TlsSession::end() {
  if (!done_ || std::exchange(ended_, true) || !fault_.empty()) return;
  ::ERR_clear_error();
  ::SSL_shutdown(of(ssl_));
  ::ERR_clear_error();
}

TlsSession::Step TlsSession::step_of(int outcome) {
  switch (::SSL_get_error(of(ssl_), outcome)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return Step::WantsMore;
    case SSL_ERROR_ZERO_RETURN: return Step::Ended;
    default: explain(); return Step::Failed;
  }
}

void TlsSession::explain() {
  const auto code = ::ERR_peek_error();
  const int reason = ERR_GET_REASON(code);
  const char* text = code == 0 ? nullptr : ::ERR_reason_error_string(code);
  fault_ = fmt::format("ended the TLS connection: {}", text == nullptr ? "no reason given" : text);
  if (!trust_) return;
  if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST) {
    fault_ = "does not speak TLS; use http:// instead of https://";
    untrusted_ = true;
    return;
  }
  if (reason != SSL_R_CERTIFICATE_VERIFY_FAILED) return;
  untrusted_ = true;
  const long verdict = ::SSL_get_verify_result(of(ssl_));
  const std::string why = ::X509_verify_cert_error_string(verdict);
  if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    fault_ = fmt::format(
        "presented a certificate that is not valid for {}; if it is the right one, give the name in the "
        "certificate with "
        "DET_MASTER_CERT_NAME",
        expected_name_);
  } else if (verdict == X509_V_ERR_CERT_HAS_EXPIRED || verdict == X509_V_ERR_CERT_NOT_YET_VALID) {
    fault_ = fmt::format("presented a certificate that is not valid today ({}); renew it", why);
  } else {
    fault_ = fmt::format(
        "presented a certificate that is not trusted ({}; SHA-256 {}); set DET_MASTER_CERT_FILE to a file "
        "with this certificate, or with that of the authority that signed it",
        why, refused_);
  }
}

}  // namespace det::http
