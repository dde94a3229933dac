#include "det/http/server/body_reader.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "det/base/text.h"

namespace det::http {

namespace beast = boost::beast;

struct BodyReader::Parser : beast::http::request_parser<beast::http::string_body> {};

BodyReader::BodyReader(const std::string& head) : parser_(std::make_unique<Parser>()) {
  parser_->header_limit(static_cast<std::uint32_t>(head.size() + 1));
  parser_->body_limit(boost::none);  // the connection counts
  beast::error_code failure;
  parser_->put(asio::buffer(head), failure);
  if (failure || !parser_->is_header_done()) fault_ = "its head is malformed: " + failure.message();
  parser_->eager(true);
}

BodyReader::~BodyReader() = default;

void BodyReader::describe(Request& request) const {
  const auto& message = parser_->get();
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  for (const auto& field : message)
    request.headers.add(std::string(field.name_string()), std::string(field.value()));
}

bool BodyReader::keep_alive() const {
  return parser_->keep_alive();
}
bool BodyReader::is_http_1_0() const {
  return parser_->get().version() == 10;
}

std::optional<std::uint64_t> BodyReader::length() const {
  const auto length = parser_->content_length();
  return length ? std::optional<std::uint64_t>(*length) : std::nullopt;
}

std::size_t BodyReader::put(std::string_view bytes) {
  beast::error_code failure;
  const auto used = parser_->put(asio::buffer(bytes.data(), bytes.size()), failure);
  if (failure && failure != beast::http::error::need_more)
    fault_ = "its body is malformed: " + failure.message();
  return used;
}

bool BodyReader::done() const {
  return parser_->is_done();
}
std::size_t BodyReader::body_bytes() const {
  return parser_->get().body().size();
}
std::string BodyReader::take() {
  return std::move(parser_->get().body());
}

bool is_continue(std::string_view expect) {
  return to_lower(trim(expect)) == "100-continue";
}

Result<void> split_target(Request& request) {
  std::string_view target = request.target;
  if (!target.starts_with('/')) {  // "http://host:port/path", as sent to a proxy
    const auto slash = target.find('/', std::string_view("http://").size());
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  const auto mark = target.find('?');
  request.path = std::string(target.substr(0, mark));
  if (mark == std::string_view::npos) return {};
  DET_TRY(request.query, Query::parse(target.substr(mark + 1)));
  return {};
}

}  // namespace det::http
