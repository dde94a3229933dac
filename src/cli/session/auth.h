#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"

namespace det::cli {

/// The process's environment variables, as a value.
using Variables = std::map<std::string, std::string, std::less<>>;

/// The value of a variable that is set and not empty.
std::optional<std::string> variable(const Variables& variables, std::string_view name);

/// $XDG_CONFIG_HOME/determined, else ~/.config/determined.
std::filesystem::path config_directory(const Variables& variables);

/// What travels instead of a password: the hex SHA-512 of a fixed salt and the
/// password. The empty password stays empty.
std::string password_hash(std::string_view password);

/// Who is logged in where: `auth.json`, for each master an active user and the
/// tokens of its users.
///
///     {"version": 2, "masters": {"http://host:8080": {"active_user": "x", "tokens": {"x": "…"}}}}
///
/// The form of early releases, {"active_user", "tokens"} without masters, is
/// read as well and belongs to whichever master is asked for. Every change
/// reads the file again under a lock, so that commands that run at the same
/// time do not undo each other; it is replaced as a whole, and is readable by
/// its owner only.
class AuthCache {
 public:
  AuthCache(std::filesystem::path directory, std::string master)
      : directory_(std::move(directory)), master_(std::move(master)) {}

  /// Fails when the file is not what we wrote; it is then deleted, because
  /// every later command would fail, too.
  Result<std::optional<std::string>> active_user() const;
  Result<std::optional<std::string>> token(const std::string& user) const;
  Result<std::vector<std::string>> users() const;

  Result<void> store(const std::string& user, const std::string& token);  ///< Makes the user active.
  /// Keeps the token of one who speaks for one command (`-u`); the active user stays.
  Result<void> remember(const std::string& user, const std::string& token);
  Result<void> drop(const std::string& user);  ///< Forgets the token; the user is no longer active.
  Result<void> drop_all();

 private:
  struct Entry {
    std::optional<std::string> active_user;
    std::map<std::string, std::string> tokens;
  };
  struct Content {
    std::map<std::string, Entry> masters;
    std::optional<Entry> any_master;  ///< From a file of an early release.
  };
  Result<Content> read() const;
  Result<Entry> entry() const;
  Result<void> write(const Content& content) const;
  template <typename Change>
  Result<void> update(Change change);

  std::filesystem::path directory_;
  std::string master_;
};

}  // namespace det::cli
