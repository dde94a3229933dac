#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace det::store {

/// For tests: stands between a client and a server on this machine. It can lose the answer to a commit that
/// the server has made, and change the version that the server names.
class LosingProxy {
 public:
  explicit LosingProxy(int server_port);
  ~LosingProxy();
  LosingProxy(const LosingProxy&) = delete;
  LosingProxy& operator=(const LosingProxy&) = delete;

  int port() const { return port_; }
  /// The next COMMIT of a leader reaches the server, and its connection is cut before the answer.
  void lose_next_answer() { losing_ = true; }
  /// Whether that has happened.
  bool lost() const { return !losing_; }
  /// The major version that clients see from now on, of two digits.
  void show_version(std::string major) { version_ = std::move(major); }

 private:
  void run();
  struct Pair {
    int client, server;
    bool writes = false;  ///< it is the session of a leader
  };
  bool to_client(const Pair& pair);
  bool to_server(Pair& pair);

  const int server_port_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> losing_ = false, stopping_ = false;
  std::string version_;
  std::vector<Pair> pairs_;
  std::thread thread_;
};

}  // namespace det::store
