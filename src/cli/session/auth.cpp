#include "det/cli/session/auth.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "det/base/json.h"
#include "det/base/text.h"

namespace det::cli {
namespace {

constexpr const char* kSalt = "GubPEmmotfiK9TMD6Zdw";
constexpr int kVersion = 2;

class Lock {
 public:
  explicit Lock(const std::filesystem::path& directory)
      : fd_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ >= 0) ::flock(fd_, LOCK_EX);
  }
  ~Lock() {
    if (fd_ >= 0) ::close(fd_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int fd_;
};

}  // namespace

std::optional<std::string> variable(const Variables& variables, std::string_view name) {
  const auto found = variables.find(name);
  if (found == variables.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::filesystem::path config_directory(const Variables& variables) {
  if (const auto home = variable(variables, "XDG_CONFIG_HOME"))
    return std::filesystem::path(*home) / "determined";
  return std::filesystem::path(variable(variables, "HOME").value_or("/")) / ".config" / "determined";
}

std::string password_hash(std::string_view password) {
  if (password.empty()) return "";
  const auto salted = kSalt + std::string(password);
  unsigned char hash[crypto_hash_sha512_BYTES];
  crypto_hash_sha512(hash, reinterpret_cast<const unsigned char*>(salted.data()), salted.size());
  return hexadecimal({reinterpret_cast<const char*>(hash), sizeof hash});
}

Result<AuthCache::Content> AuthCache::read() const {
  const auto path = directory_ / "auth.json";
  std::ifstream file(path, std::ios::binary);
  if (!file) return Content{};
  const std::string text{std::istreambuf_iterator<char>(file), {}};

  const auto parse_entry = [](const json::object& o) -> std::optional<Entry> {
    Entry entry;
    if (const auto* active = o.if_contains("active_user"); active != nullptr && !active->is_null()) {
      if (!active->is_string()) return std::nullopt;
      if (!active->get_string().empty()) entry.active_user = std::string(active->get_string());
    }
    if (const auto* tokens = o.if_contains("tokens"); tokens != nullptr && !tokens->is_null()) {
      if (!tokens->is_object()) return std::nullopt;
      for (const auto& [user, token] : tokens->get_object()) {
        if (!token.is_string()) return std::nullopt;
        entry.tokens[user] = token.get_string();
      }
    }
    return entry;
  };
  const auto parse_content = [&]() -> std::optional<Content> {
    const auto document = json::parse(text);
    if (!document || !document->is_object()) return std::nullopt;
    Content content;
    const auto* masters = document->get_object().if_contains("masters");
    if (masters == nullptr) {
      if (document->get_object().contains("version")) return std::nullopt;
      content.any_master = parse_entry(document->get_object());
      if (!content.any_master) return std::nullopt;
      return content;
    }
    if (!masters->is_object()) return std::nullopt;
    for (const auto& [master, fields] : masters->get_object()) {
      if (!fields.is_object()) return std::nullopt;
      auto entry = parse_entry(fields.get_object());
      if (!entry) return std::nullopt;
      content.masters[master] = *std::move(entry);
    }
    return content;
  };

  auto content = parse_content();
  if (!content) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    return fail(ErrorCode::Unauthenticated,  // shown as it is, whatever the command wanted
                "Failed to login: Attempted to read a corrupted token cache. The store has been deleted; "
                "please try again.");
  }
  return *std::move(content);
}

Result<AuthCache::Entry> AuthCache::entry() const {
  DET_TRY(const auto content, read());
  const auto found = content.masters.find(master_);
  if (found != content.masters.end()) return found->second;
  return content.any_master.value_or(Entry{});
}

Result<std::optional<std::string>> AuthCache::active_user() const {
  DET_TRY(const auto entry, this->entry());
  return entry.active_user;
}

Result<std::optional<std::string>> AuthCache::token(const std::string& user) const {
  DET_TRY(const auto entry, this->entry());
  const auto found = entry.tokens.find(user);
  if (found == entry.tokens.end()) return std::optional<std::string>();
  return std::optional(found->second);
}

Result<std::vector<std::string>> AuthCache::users() const {
  DET_TRY(const auto entry, this->entry());
  std::vector<std::string> users;
  for (const auto& [user, token] : entry.tokens) users.push_back(user);
  return users;
}

Result<void> AuthCache::write(const Content& content) const {
  json::object masters;
  for (const auto& [master, entry] : content.masters) {
    json::object tokens;
    for (const auto& [user, token] : entry.tokens) tokens[user] = token;
    json::object fields;
    fields["active_user"] = entry.active_user ? json::value(*entry.active_user) : json::value(nullptr);
    fields["tokens"] = std::move(tokens);
    masters[master] = std::move(fields);
  }
  json::object document;
  document["version"] = kVersion;
  document["masters"] = std::move(masters);
  const auto text = json::pretty(document) + "\n";

  const auto path = directory_ / "auth.json";
  auto draft = (directory_ / "auth.json.XXXXXX").string();
  const int fd = ::mkostemp(draft.data(), O_CLOEXEC);  // mode 0600
  const bool written = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int failure = errno;
  if (fd >= 0) ::close(fd);
  if (!written || ::rename(draft.c_str(), path.c_str()) != 0) {
    const int reason = written ? errno : failure;
    if (fd >= 0) ::unlink(draft.c_str());
    return fail(ErrorCode::Unavailable, "cannot write {}: {}", path.string(), std::strerror(reason));
  }
  return {};
}

template <typename Change>
Result<void> AuthCache::update(Change change) {
  std::error_code failure;
  std::filesystem::create_directories(directory_, failure);
  if (failure)
    return fail(ErrorCode::Unavailable, "cannot create {}: {}", directory_.string(), failure.message());
  ::chmod(directory_.c_str(), 0700);
  const Lock lock(directory_);
  DET_TRY(auto content, read());
  auto& entry = content.masters.try_emplace(master_, content.any_master.value_or(Entry{})).first->second;
  change(entry);
  return write(content);
}

Result<void> AuthCache::store(const std::string& user, const std::string& token) {
  return update([&](Entry& entry) {
    entry.active_user = user;
    entry.tokens[user] = token;
  });
}

Result<void> AuthCache::remember(const std::string& user, const std::string& token) {
  return update([&](Entry& entry) { entry.tokens[user] = token; });
}

Result<void> AuthCache::drop(const std::string& user) {
  return update([&](Entry& entry) {
    entry.tokens.erase(user);
    if (entry.active_user == user) entry.active_user.reset();
  });
}

Result<void> AuthCache::drop_all() {
  return update([](Entry& entry) { entry = Entry{}; });
}

}  // namespace det::cli
