#include "det/http/routing/status.h"

#include "det/base/json.h"
#include "det/base/text.h"

namespace det::http {

ErrorStatus status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument: return {400, 3, "InvalidArgument"};
    case ErrorCode::Unauthenticated: return {401, 16, "Unauthenticated"};
    case ErrorCode::NotFound: return {404, 5, "NotFound"};
    case ErrorCode::AlreadyExists: return {409, 6, "AlreadyExists"};
    case ErrorCode::FailedPrecondition: return {400, 9, "FailedPrecondition"};
    case ErrorCode::PermissionDenied: return {403, 7, "PermissionDenied"};
    case ErrorCode::ResourceExhausted: return {429, 8, "ResourceExhausted"};
    case ErrorCode::Gone: return {410, 10, "Aborted"};
    case ErrorCode::Unimplemented: return {501, 12, "Unimplemented"};
    case ErrorCode::Unavailable: return {503, 14, "Unavailable"};
    case ErrorCode::Internal: break;
  }
  return {500, 13, "Internal"};
}

ErrorCode code_of(int http_status, int grpc_code) {
  // One HTTP status stands for two codes; the body tells which.
  if (http_status == 400) return grpc_code == 9 ? ErrorCode::FailedPrecondition : ErrorCode::InvalidArgument;
  for (const auto code : {ErrorCode::Unauthenticated, ErrorCode::NotFound, ErrorCode::AlreadyExists,
                          ErrorCode::PermissionDenied, ErrorCode::ResourceExhausted, ErrorCode::Gone,
                          ErrorCode::Unimplemented, ErrorCode::Unavailable}) {
    if (status_of(code).http == http_status) return code;
  }
  if (http_status == 502 || http_status == 504 || http_status == 408) return ErrorCode::Unavailable;
  return http_status < 500 ? ErrorCode::InvalidArgument : ErrorCode::Internal;
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Unknown";
  }
}

namespace {

// A message may quote what a user sent; JSON must be UTF-8 whatever it was.
std::string printable(const std::string& message) {
  if (is_utf8(message)) return message;
  std::string out;
  for (const char c : message) out += static_cast<unsigned char>(c) < 0x80 ? c : '?';
  return out;
}

}  // namespace

std::string error_body(const Error& error) {
  const auto status = status_of(error.code());
  return json::serialize({{"error", json::object{{"code", status.grpc},
                                                 {"reason", status.reason},
                                                 {"error", printable(error.message())}}}});
}

std::string stream_error_body(const Error& error) {
  const auto status = status_of(error.code());
  return json::serialize({{"error", json::object{{"grpcCode", status.grpc},
                                                 {"httpCode", status.http},
                                                 {"message", printable(error.message())},
                                                 {"httpStatus", reason_phrase(status.http)},
                                                 {"details", json::array{}}}}});
}

std::string error_text(int status, std::string_view body) {
  if (const auto parsed = json::parse(body); parsed && parsed->is_object()) {
    const auto text = [](const json::object& o, const char* name) -> const json::value* {
      const auto* found = o.if_contains(name);
      return found != nullptr && found->is_string() ? found : nullptr;
    };
    const auto& whole = parsed->get_object();
    if (const auto* found = text(whole, "message")) return std::string(found->get_string());
    if (const auto* inner = whole.if_contains("error"); inner != nullptr && inner->is_object()) {
      for (const auto* name : {"message", "error"})
        if (const auto* found = text(inner->get_object(), name)) return std::string(found->get_string());
    }
    if (const auto* found = text(whole, "error")) return std::string(found->get_string());
  }
  if (body.empty()) return fmt::format("{} {}", status, reason_phrase(status));
  return fmt::format("{} {}: {}", status, reason_phrase(status), body.substr(0, 200));
}

Error error_of(int status, std::string_view body) {
  int grpc_code = 0;
  if (const auto parsed = json::parse(body); parsed && parsed->is_object()) {
    if (const auto* inner = parsed->get_object().if_contains("error");
        inner != nullptr && inner->is_object()) {
      for (const auto* name : {"code", "grpcCode"})
        if (const auto* found = inner->get_object().if_contains(name))
          if (const auto number = json::to_int64(*found); number && *number > 0 && *number < 100)
            grpc_code = static_cast<int>(*number);
    }
  }
  return Error(code_of(status, grpc_code), error_text(status, body));
}

Response json_response(std::string body, int status) {
  Response response;
  response.status = status;
  response.headers.add("Content-Type", "application/json");
  response.headers.add("Cache-Control", "no-store");  // a log-in's token is such an answer
  response.headers.add("X-Content-Type-Options", "nosniff");
  response.body = std::move(body);
  return response;
}

Response error_response(const Error& error) {
  return json_response(error_body(error), status_of(error.code()).http);
}

}  // namespace det::http
