#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace det::store {

/// A PostgreSQL server of a test's own: in a private directory, on a free port of this machine and a socket
/// in that directory, with the programs of the newest version that is installed. As root it runs as another
/// user, because PostgreSQL refuses root. It ends with the process that started it.
class PostgresServer {
 public:
  /// Throws where there is no PostgreSQL, or it does not start.
  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  /// One for all tests of this process.
  static PostgresServer& shared();

  /// A database of that name, by TCP; made, as a copy of `from`, where it is not there.
  std::string database(const std::string& name, const std::string& from = "template1");
  void drop(const std::string& name);
  std::string url(const std::string& name) const;
  /// Runs statements in the database of that name.
  void execute(const std::string& name, const std::string& sql);
  /// From now on this user must show a password.
  void require_password(const std::string& user);
  void start();
  /// Ends it at once, as a crash would.
  void crash();
  void restart();
  int port() const { return port_; }

 private:
  int run(const std::string& program, std::vector<std::string> arguments, bool wait);

  std::filesystem::path directory_, programs_;
  int port_ = 0;
  int process_ = -1;
};

}  // namespace det::store
