#include "det/http/server/head.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "det/base/text.h"

namespace det::http {

namespace {

bool is_token(std::string_view text) {
  constexpr std::string_view kPunctuation = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](unsigned char c) {
    return c < 0x80 &&
           (std::isalnum(c) != 0 || kPunctuation.find(static_cast<char>(c)) != std::string_view::npos);
  });
}

bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7F); });
}

bool is_number(std::string_view text) {
  constexpr std::size_t kDigitsMax = 18;
  return !text.empty() && text.size() <= kDigitsMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_host(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) {
    return c <= 0x20 || c >= 0x7F ||
           std::string_view(",/\\@?#\"<>").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

std::optional<HeadFault> fault(int status, std::string rule) {
  return HeadFault{status, std::move(rule)};
}

std::optional<HeadFault> check_request_line(std::string_view line) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return fault(400, "the first line must be a method, a path and HTTP/1.1, each separated by one space");
  const auto method = line.substr(0, first);
  const auto target = line.substr(first + 1, last - first - 1);
  const auto version = line.substr(last + 1);
  if (!is_token(method) || method.size() > 32) return fault(400, "the method is not valid");
  if (target.empty() ||
      std::any_of(target.begin(), target.end(), [](unsigned char c) { return c <= 0x20 || c >= 0x7F; }))
    return fault(400, "the path has a character that must be percent-encoded");
  if (target.front() != '/' && !target.starts_with("http://"))
    return fault(400, "the path must begin with \"/\"");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    if (version.starts_with("HTTP/"))
      return fault(505, fmt::format("{} is not supported; use HTTP/1.1", version));
    return fault(400, "the first line must end in HTTP/1.1");
  }
  return std::nullopt;
}

}  // namespace

void HeadScanner::refuse(int status, std::string rule) {
  fault_ = HeadFault{status, std::move(rule)};
}

std::optional<std::size_t> HeadScanner::scan(std::string_view bytes) {
  for (; scanned_ < bytes.size() && !fault_; ++scanned_) {
    const char c = bytes[scanned_];
    if (request_line_ == 0 && scanned_ > limits_.uri_max + 64)
      refuse(414, fmt::format("the path is longer than {} bytes", limits_.uri_max));
    if (request_line_ != 0 && scanned_ - request_line_ > limits_.headers_max)
      refuse(431, fmt::format("the headers are longer than {} bytes", limits_.headers_max));
    if (fault_ || c != '\n') continue;
    if (scanned_ == 0 || bytes[scanned_ - 1] != '\r') {
      refuse(400, "a line ends with LF instead of CRLF");
    } else if (request_line_ == 0) {
      request_line_ = scanned_ + 1;
    } else if (scanned_ >= 3 && bytes.substr(scanned_ - 3, 4) == "\r\n\r\n") {
      return ++scanned_;
    }
  }
  return std::nullopt;
}

std::optional<HeadFault> check_head(std::string_view head, const HeadLimits& limits) {
  auto line_end = head.find("\r\n");
  if (line_end == std::string_view::npos) return fault(400, "the request has no first line");
  const auto request_line = head.substr(0, line_end);
  if (auto found = check_request_line(request_line)) return found;
  const bool is_http_1_0 = request_line.ends_with("HTTP/1.0");
  const auto target_bytes = request_line.rfind(' ') - request_line.find(' ') - 1;
  if (target_bytes > limits.uri_max)
    return fault(414, fmt::format("the path is longer than {} bytes", limits.uri_max));
  head.remove_prefix(line_end + 2);
  if (head.size() > limits.headers_max + 2)
    return fault(431, fmt::format("the headers are longer than {} bytes", limits.headers_max));

  std::size_t fields = 0;
  int hosts = 0;
  int lengths = 0;
  int codings = 0;
  while (!head.starts_with("\r\n")) {
    line_end = head.find("\r\n");
    if (line_end == std::string_view::npos) return fault(400, "the headers do not end in an empty line");
    const auto line = head.substr(0, line_end);
    head.remove_prefix(line_end + 2);
    if (line.front() == ' ' || line.front() == '\t' || head.starts_with(' ') || head.starts_with('\t'))
      return fault(400, "a header continues on the next line, which HTTP/1.1 no longer allows");
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return fault(400, "a header has no colon");
    const auto raw_name = line.substr(0, colon);
    if (!is_token(raw_name))
      return fault(400, "the name of a header has an invalid character, or a space before the colon");
    const auto value = trim(line.substr(colon + 1));
    const auto name = to_lower(raw_name);
    if (!is_field_value(value)) return fault(400, fmt::format("the header {} has a control character", name));
    if (++fields > limits.fields_max)
      return fault(431, fmt::format("there are more than {} headers", limits.fields_max));

    if (name == "host") {
      if (++hosts > 1) return fault(400, "there are two Host headers");
      if (!is_host(value)) return fault(400, "the Host header is not a host and port");
    } else if (name == "content-length") {
      if (++lengths > 1) return fault(400, "there are two Content-Length headers");
      if (!is_number(value)) return fault(400, "Content-Length is not a number");
    } else if (name == "transfer-encoding") {
      if (++codings > 1) return fault(400, "there are two Transfer-Encoding headers");
      if (is_http_1_0) return fault(400, "HTTP/1.0 does not support Transfer-Encoding");
      if (to_lower(value) != "chunked") return fault(501, "the only supported Transfer-Encoding is chunked");
    }
  }
  if (head.size() != 2) return fault(400, "there are bytes after the end of the headers");
  if (hosts == 0 && !is_http_1_0) return fault(400, "there is no Host header");
  if (lengths > 0 && codings > 0) return fault(400, "there are both Content-Length and Transfer-Encoding");
  return std::nullopt;
}

}  // namespace det::http
