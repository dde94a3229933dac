#pragma once

#include <string>
#include <string_view>

#include "det/base/error.h"
#include "det/http/message.h"

namespace det::http {

/// How an error code travels: docs/reference names the table.
struct ErrorStatus {
  int http;
  int grpc;
  std::string_view reason;
};
ErrorStatus status_of(ErrorCode code);

/// The code that a client understands from a reply's HTTP status and, where
/// the body has one, its gRPC code (0: none).
ErrorCode code_of(int http_status, int grpc_code = 0);

/// "Not Found" for 404; "Unknown" for a status that HTTP does not define.
std::string_view reason_phrase(int status);

/// {"error":{"code":5,"reason":"NotFound","error":"trial 7 not found"}}
std::string error_body(const Error& error);
/// The form in which a stream fails: {"error":{"grpcCode":5,"httpCode":404,…}}
std::string stream_error_body(const Error& error);
/// The text of an error reply, whichever of the known forms it has; else the
/// beginning of the body, else the status in words.
std::string error_text(int status, std::string_view body);
/// What a reply of status 400 or above says, as an error.
Error error_of(int status, std::string_view body);

/// A master that stands by answers 503 with this header: the leader's URL, or "unknown".
inline constexpr std::string_view kLeaderHeader = "Det-Leader";

Response error_response(const Error& error);
Response json_response(std::string body, int status = 200);

}  // namespace det::http
