#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "det/http/server/connection.h"
#include "det/http/server/exchange.h"
#include "det/http/server/part_reader.h"

namespace det::http {

/// The exchange of a request on its connection. It may outlive the request in a coroutine that still waits
/// for a read, which then fails.
class Connection::Side final : public Exchange {
 public:
  /// Requires: check_head(head) found no fault.
  Side(std::shared_ptr<Connection> connection, Request request, const std::string& head, bool keep_alive,
       bool is_http_1_0);

  const Request& request() const override { return request_; }
  bool is_http_1_0() const override { return is_http_1_0_; }
  bool keep_alive() const override;
  std::optional<std::uint64_t> body_length() const override;
  bool body_read() const override { return reader_.done(); }
  asio::awaitable<Result<std::string>> read() override;
  asio::awaitable<bool> write(std::string bytes) override;
  asio::awaitable<bool> respond(Response response) override;
  void become_tunnel() override;
  void close_sending() override;
  void cut() override;
  void on_sweep(std::function<void(Clock::time_point)> sweep) override { on_sweep_ = std::move(sweep); }

  void sweep(Clock::time_point now);
  bool is_tunnel() const { return tunnel_; }
  bool written() const { return written_; }
  void end() { over_ = true; }  ///< of the handler

 private:
  asio::awaitable<Result<std::string>> read_tunnel();
  asio::awaitable<bool> send(std::string bytes);

  std::shared_ptr<Connection> connection_;
  Request request_;
  PartReader reader_;
  bool keep_alive_;
  bool is_http_1_0_;
  bool expects_continue_ = false;
  bool tunnel_ = false;
  bool written_ = false;
  bool over_ = false;
  Clock::time_point read_deadline_ = Clock::time_point::max();
  Clock::time_point write_deadline_ = Clock::time_point::max();
  std::function<void(Clock::time_point)> on_sweep_;
};

}  // namespace det::http
