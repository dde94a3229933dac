#include "det/agent/prepare/account.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace det::agent {

namespace fs = std::filesystem;

namespace {

/// The entry of /etc/passwd or a directory service; the name and the home directory are empty where there is
/// none.
struct Entry {
  std::string name, home;
  std::int64_t gid = -1;
};

Entry entry_of(std::int64_t uid) {
  Entry entry;
  passwd space{}, *found = nullptr;
  std::vector<char> text(16 * 1024);
  if (::getpwuid_r(static_cast<uid_t>(uid), &space, text.data(), text.size(), &found) == 0 &&
      found != nullptr)
    entry = {.name = found->pw_name, .home = found->pw_dir, .gid = found->pw_gid};
  return entry;
}

/// The first directory on the way to `path` that the account may not enter; empty: it comes through.
fs::path barrier(const fs::path& path, std::int64_t uid, std::int64_t gid) {
  if (uid == 0) return {};
  fs::path way;
  for (const auto& part : path.parent_path()) {
    way /= part;
    struct stat found{};
    if (::stat(way.c_str(), &found) != 0) return way;
    const auto needed = found.st_uid == static_cast<uid_t>(uid)   ? S_IXUSR
                        : found.st_gid == static_cast<gid_t>(gid) ? S_IXGRP
                                                                  : S_IXOTH;
    if ((found.st_mode & static_cast<mode_t>(needed)) == 0) return way;
  }
  return {};
}

bool may_write(const std::string& path, std::int64_t uid, std::int64_t gid) {
  struct stat found{};
  if (uid == 0) return true;
  if (::stat(path.c_str(), &found) != 0 || !barrier(fs::path(path) / "file", uid, gid).empty()) return false;
  const auto needed = found.st_uid == static_cast<uid_t>(uid)   ? S_IWUSR
                      : found.st_gid == static_cast<gid_t>(gid) ? S_IWGRP
                                                                : S_IWOTH;
  return (found.st_mode & static_cast<mode_t>(needed)) != 0;
}

bool is_home_of(const std::string& path, std::int64_t uid) {
  struct stat found{};
  return !path.empty() && ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == static_cast<uid_t>(uid);
}

Result<void> give(const fs::path& path, std::int64_t uid, std::int64_t gid) {
  if (::lchown(path.c_str(), static_cast<uid_t>(uid), static_cast<gid_t>(gid)) == 0) return {};
  return fail(ErrorCode::Unavailable, "cannot give {} to uid {}: {}", path.string(), uid,
              std::strerror(errno));
}

Result<void> give_all(const fs::path& directory, std::int64_t uid, std::int64_t gid) {
  if (auto done = give(directory, uid, gid); !done) return done;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(directory, error))
    if (auto done = give(entry.path(), uid, gid); !done) return done;
  return {};
}

}  // namespace

Result<void> run_as(const config::AgentUserGroup& account, const fs::path& state, const fs::path& work,
                    ShimSpec& spec) {
  const auto own = static_cast<std::int64_t>(::geteuid());
  const std::int64_t uid = account.agent_uid.value_or(static_cast<std::int32_t>(own));
  const auto entry = entry_of(uid);
  const std::int64_t gid = account.agent_gid ? *account.agent_gid
                           : entry.gid >= 0  ? entry.gid
                                             : static_cast<std::int64_t>(::getegid());
  if (own != 0 && (uid != own || gid != static_cast<std::int64_t>(::getegid())))
    return failed_precondition(
        "it should run as {}:{} (uid {}, gid {}), but this agent runs as uid {} and cannot change its user; "
        "start the agent as root, or remove the agent user group of the user or workspace",
        account.agent_user.value_or(std::to_string(uid)), account.agent_group.value_or(std::to_string(gid)),
        uid, gid, own);
  if (auto done = give_all(work, uid, gid); !done) return done;
  if (!spec.hook_packages.empty())
    if (auto done = give(spec.hook_packages, uid, gid); !done) return done;
  std::error_code error;
  // The way to the directory, which may be entered but not listed; what else is there stays the agent's.
  for (auto path = work.parent_path(); path != state.parent_path() && path != path.root_path();
       path = path.parent_path())
    fs::permissions(path, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec, error);
  if (const auto closed = barrier(fs::absolute(work, error), uid, gid); !closed.empty())
    return failed_precondition(
        "uid {} may not enter {}, above the agent's directory; allow it with `chmod o+x {}`, or start the "
        "agent with "
        "--dir elsewhere",
        uid, closed.string(), closed.string());
  spec.uid = uid;
  spec.gid = gid;
  const auto name = account.agent_user.value_or(entry.name.empty() ? std::to_string(uid) : entry.name);
  spec.environment["USER"] = spec.environment["LOGNAME"] = name;
  spec.environment["HOME"] = is_home_of(entry.home, uid) ? entry.home : work.string();
  spec.environment.erase("XDG_CACHE_HOME");
  // The agent's own place for temporary files is of no use to an account that cannot write there.
  const auto temporary = spec.environment.find("TMPDIR");
  if (temporary != spec.environment.end() && !may_write(temporary->second, uid, gid))
    spec.environment.erase(temporary);
  return {};
}

}  // namespace det::agent
