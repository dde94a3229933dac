#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "det/checkpoint/files.h"

using CURL = void;

/// Calls of object stores and of those who hand out their credentials, over libcurl.
namespace det::checkpoint {

/// A stretch of a file that is the body of a call. It may be read several times.
struct FilePart {
  int file = -1;  ///< an open descriptor; read with pread
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

struct WebCall {
  std::string method = "GET";
  std::string url;
  std::vector<std::string> headers = {};  ///< "Name: value"
  std::string body = {};                  ///< of a call without a `part`
  const FilePart* part = nullptr;
  /// Takes the body of an answer with status 200 or 206 piece by piece, else it is kept. `restart` is called
  /// before each attempt. Both may throw Failure.
  std::function<void(std::string_view)> sink = {};
  std::function<void()> restart = {};
  int attempts = 6;
  std::chrono::milliseconds connect_timeout{10'000};
  bool to_link_local = false;  ///< may go to 169.254.0.0/16, where clouds tell a machine its own secrets
};

struct WebReply {
  int status = 0;
  std::map<std::string, std::string> headers = {};  ///< names in lower case
  std::string body = {};
  std::string header(const std::string& name) const;
};

/// Makes calls one after the other over connections that it keeps.
///
/// What may pass is tried again with growing delays: no connection, a connection that broke, silence of a
/// minute, and the statuses 408, 429, 500, 502, 503 and 504. Redirections are not followed.
///
/// Threads: safe.
class WebClient {
 public:
  WebClient() = default;
  ~WebClient();
  WebClient(const WebClient&) = delete;
  WebClient& operator=(const WebClient&) = delete;

  /// The answer, whatever its status. Throws Failure, of the code Unavailable where there is no answer.
  WebReply send(const WebCall& call);

 private:
  CURL* take();
  void give(CURL* handle);

  std::mutex mutex_;
  std::vector<CURL*> idle_;
};

/// Throws what the service says went wrong ("cannot read s3://bucket/key: AccessDenied: …"), unless it is a
/// 2xx.
void check_reply(const WebReply& reply, const std::string& doing);

}  // namespace det::checkpoint
