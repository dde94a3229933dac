#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace det::pytorch {

/// The store does not answer any more: rank 0's process is gone.
struct StoreLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Keys and values by which the ranks of a trial meet and end: torch.distributed's TCPStore, as in Python.
///
/// Threads: one connection for each thread; calls of one connection wait for each other.
class Store {
 public:
  /// Serves a store on a listening socket, which it takes over, and connects to it. Rank 0.
  static std::unique_ptr<Store> serve(int socket, std::uint16_t port);
  /// Throws StoreLost where nobody answers within `timeout`.
  static std::unique_ptr<Store> connect(const std::string& host, std::uint16_t port,
                                        std::chrono::milliseconds timeout);
  ~Store();

  // Each throws StoreLost.
  void set(const std::string& key, const std::string& value);
  std::string get(const std::string& key);  ///< Waits until there is one.
  bool has(const std::string& key);
  bool wait(const std::string& key, std::chrono::milliseconds timeout);  ///< False: not within `timeout`.
  std::int64_t add(const std::string& key, std::int64_t amount);
  /// Sets a key that nobody has set yet; gives what it holds afterwards.
  std::string claim(const std::string& key, const std::string& value);

  struct Parts;
  Parts& parts() { return *parts_; }

 private:
  explicit Store(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace det::pytorch
