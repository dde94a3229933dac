#include "det/http/server/part_reader.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>

namespace det::http {

namespace beast = boost::beast;

namespace {

constexpr std::uint32_t kHeadBytesMax = 64 * 1024;

}  // namespace

struct PartReader::Parser {
  using Request = beast::http::request_parser<beast::http::buffer_body>;
  using Reply = beast::http::response_parser<beast::http::buffer_body>;
  std::unique_ptr<Request> request;
  std::unique_ptr<Reply> reply;

  template <class F>
  auto with(F&& act) const {
    return reply ? act(*reply) : act(*request);
  }
};

PartReader::PartReader(Of what) : parser_(std::make_unique<Parser>()) {
  if (what == Of::Request)
    parser_->request = std::make_unique<Parser::Request>();
  else
    parser_->reply = std::make_unique<Parser::Reply>();
  parser_->with([&](auto& parser) {
    parser.header_limit(kHeadBytesMax);
    parser.body_limit(boost::none);
    parser.eager(true);
  });
  if (what == Of::ReplyToHead) parser_->reply->skip(true);
}

PartReader::~PartReader() = default;
PartReader::PartReader(PartReader&&) noexcept = default;
PartReader& PartReader::operator=(PartReader&&) noexcept = default;

std::size_t PartReader::put(std::string_view bytes, std::string& body) {
  return parser_->with([&](auto& parser) {
    std::array<char, 16 * 1024> piece;
    std::size_t used = 0;
    while (!parser.is_done() && used < bytes.size()) {
      auto& room = parser.get().body();
      room.data = piece.data();
      room.size = piece.size();
      room.more = true;
      beast::error_code failure;
      const auto taken = parser.put(asio::buffer(bytes.data() + used, bytes.size() - used), failure);
      used += taken;
      const auto filled = piece.size() - room.size;
      body.append(piece.data(), filled);
      if (failure == beast::http::error::need_more) break;
      if (failure && failure != beast::http::error::need_buffer) {
        fault_ = failure.message();
        break;
      }
      if (taken == 0 && filled == 0) break;
    }
    return used;
  });
}

void PartReader::put_end() {
  parser_->with([&](auto& parser) {
    beast::error_code failure;
    if (parser.got_some()) parser.put_eof(failure);
    if (failure) fault_ = failure.message();
  });
}

bool PartReader::head_done() const {
  return parser_->with([](const auto& parser) { return parser.is_header_done(); });
}
bool PartReader::done() const {
  return parser_->with([](const auto& parser) { return parser.is_done(); });
}

std::optional<std::uint64_t> PartReader::length() const {
  return parser_->with([](const auto& parser) {
    const auto length = parser.content_length();
    return length ? std::optional<std::uint64_t>(*length) : std::nullopt;
  });
}

bool PartReader::chunked() const {
  return parser_->with([](const auto& parser) { return parser.chunked(); });
}

Headers PartReader::headers() const {
  return parser_->with([](const auto& parser) {
    Headers headers;
    for (const auto& field : parser.get())
      headers.add(std::string(field.name_string()), std::string(field.value()));
    return headers;
  });
}

int PartReader::status() const {
  return static_cast<int>(parser_->reply->get().result_int());
}
std::string PartReader::reason() const {
  return std::string(parser_->reply->get().reason());
}

}  // namespace det::http
