#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "det/base/error.h"

namespace det::http {

namespace asio = boost::asio;

/// "timeout_seconds" as JSON and queries spell it: "timeoutSeconds". A name in
/// lowerCamelCase comes back as it is.
std::string camel_case(std::string_view name);

/// Header fields in the order sent. Names are compared without regard to case.
class Headers {
 public:
  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  /// Replaces all fields of that name.
  void set(std::string name, std::string value);
  void erase(std::string_view name);

  /// The first value, or nothing.
  const std::string* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

/// Query parameters, decoded. `sort_by` and `sortBy` are the same name; a name
/// may come several times.
class Query {
 public:
  /// Reads what follows the "?". Fails on a broken percent escape.
  static Result<Query> parse(std::string_view text);

  void add(std::string_view name, std::string value) {
    values_[camel_case(name)].push_back(std::move(value));
  }
  /// The last value given, or nothing.
  const std::string* find(std::string_view name) const;
  /// All values in the order given.
  const std::vector<std::string>& all(std::string_view name) const;

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

struct Request {
  std::string method;  ///< "GET"
  std::string target;  ///< As sent: "/api/v1/trials/7?pretty"
  std::string path;    ///< The target without the query, still percent-encoded.
  Query query;
  Headers headers;
  std::string body;
  std::string remote;                             ///< "127.0.0.1:51234"
  std::map<std::string, std::string> parameters;  ///< Of the route's path, decoded; names in lowerCamelCase.
};

struct Response;

/// Sends a streamed response, a chunk at a time. The status and headers go out
/// with the first chunk.
class StreamWriter {
 public:
  virtual ~StreamWriter() = default;
  /// Sends `data` at once and waits until the system has taken it. False: the
  /// client is gone or has read nothing for the server's write time-out; stop.
  /// Empty data sends nothing and asks only whether the client is still there.
  virtual asio::awaitable<bool> write(std::string data) = 0;
  virtual bool started() const = 0;
  /// Answers this and nothing else. Requires: not started.
  virtual void replace(Response response) = 0;
};

/// Writes a response body; cancelled when the client goes away. An exception
/// after the first write cuts the connection, so that the client cannot take
/// half a body for a whole one.
using Stream = std::function<asio::awaitable<void>(StreamWriter&)>;

/// Reads the request's body and writes the answer by itself (exchange.h); cancelled when the client goes
/// away. Returns whether all of the answer is sent, so that another request may follow.
using Take = std::function<asio::awaitable<bool>(std::shared_ptr<class Exchange>)>;

struct Response {
  int status = 200;
  Headers headers;
  std::string body;
  Stream stream;  ///< When set it writes the body, and `body` is not used.
  Take take;      ///< When set it does everything. Only for requests that ServerOptions::hands_over names.
};

/// Text between "%" escapes decoded; nothing if an escape is broken.
std::optional<std::string> percent_decode(std::string_view text);

/// The value of a cookie of this request.
std::optional<std::string> cookie(const Request& request, std::string_view name);

/// The token that the caller shows: `Authorization: Bearer`, else one of the
/// gRPC-style headers that older clients send, else the cookie `auth`.
std::optional<std::string> bearer_token(const Request& request);

}  // namespace det::http
