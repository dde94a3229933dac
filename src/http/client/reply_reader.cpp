#include "det/http/client/reply_reader.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace det::http {

namespace beast = boost::beast;

struct ReplyReader::Parser : beast::http::response_parser<beast::http::string_body> {};

ReplyReader::ReplyReader(const Call& call, std::size_t reply_max) : call_(call), reply_max_(reply_max) {
  make_parser();
}
ReplyReader::~ReplyReader() = default;

void ReplyReader::make_parser() {
  parser_ = std::make_unique<Parser>();
  parser_->body_limit(boost::none);  // counted here
  parser_->header_limit(64 * 1024);
  parser_->eager(true);
  parser_->skip(call_.method == "HEAD");
}

void ReplyReader::put(std::string_view bytes) {
  unread_ += bytes;
  while (!unread_.empty() && !parser_->is_done() && fault_.empty() && !enough_) {
    beast::error_code failure;
    const auto used = parser_->put(asio::buffer(unread_), failure);
    unread_.erase(0, used);
    if (failure && failure != beast::http::error::need_more) {
      fault_ = "answered with something that is not HTTP: " + failure.message();
      return;
    }
    if (parser_->is_header_done()) {
      const int status = parser_->get().result_int();
      if (status == 101) {
        fault_ = "switched the protocol without being asked to";
        return;
      }
      if (status < 200 && parser_->is_done()) {  // 100-continue and the like: the answer comes after it
        make_parser();
        continue;
      }
      deliver();
    }
    if (used == 0) return;
  }
}

void ReplyReader::put_end() {
  beast::error_code failure;
  if (parser_->got_some()) parser_->put_eof(failure);
  if (parser_->is_header_done()) deliver();
}

void ReplyReader::deliver() {
  auto& arrived = parser_->get().body();
  const int status = static_cast<int>(parser_->get().result_int());
  if (status < 300 && call_.on_data) {
    if (!arrived.empty() && !enough_ && !call_.on_data(arrived)) enough_ = true;
  } else if (status < 300 && call_.on_line) {
    line_ += arrived;
    deliver_lines(parser_->is_done());
  } else {
    body_ += arrived;
  }
  arrived.clear();
  if (body_.size() > reply_max_ || line_.size() > reply_max_)
    fault_ = fmt::format("answered with more than {} bytes", reply_max_);
}

void ReplyReader::deliver_lines(bool at_end) {
  std::size_t from = 0;
  while (!enough_) {
    const auto newline = line_.find('\n', from);
    if (newline == std::string::npos) break;
    auto line = std::string_view(line_).substr(from, newline - from);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!call_.on_line(line)) enough_ = true;
    from = newline + 1;
  }
  line_.erase(0, from);
  if (at_end && !line_.empty() && !enough_) {
    if (!call_.on_line(line_)) enough_ = true;
    line_.clear();
  }
}

bool ReplyReader::done() const {
  return enough_ || parser_->is_done();
}
bool ReplyReader::reusable() const {
  return parser_->is_done() && parser_->keep_alive() && unread_.empty();
}

Reply ReplyReader::take() {
  Reply reply;
  reply.status = static_cast<int>(parser_->get().result_int());
  for (const auto& field : parser_->get())
    reply.headers.add(std::string(field.name_string()), std::string(field.value()));
  reply.body = std::move(body_);
  return reply;
}

}  // namespace det::http
