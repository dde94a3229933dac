// Who calls, what the caller may, and what the caller's browser wants to be remembered.

#include "det/master/administration/kept_setting.h"
#include "det/master/objects.h"
#include "det/master/services.h"
#include "det/master/workspaces/workspace_objects.h"
#include "det/master/workspaces/workspaces.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

constexpr std::size_t kSettingsBytesMax = 1 << 20;  // of one user

struct CurrentUserReply {
  api::User user;
};
BOOST_DESCRIBE_STRUCT(CurrentUserReply, (), (user))

struct Setting {
  std::string key, storage_path, value;
  static bool required(std::string_view name) { return name == "key"; }
};
BOOST_DESCRIBE_STRUCT(Setting, (), (key, storage_path, value))
struct Settings {
  std::vector<Setting> settings;
};
BOOST_DESCRIBE_STRUCT(Settings, (), (settings))

std::string key_of(UserId user) {
  return fmt::format("settings of user {}", user);
}

std::vector<Setting> read_settings(store::Store& store, UserId user) {
  return kept_setting<std::vector<Setting>>(store, key_of(user)).value_or(std::vector<Setting>{});
}

asio::awaitable<Result<Settings>> get(Services& s, Context context) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  auto read = [&s, id = user->id] { return read_settings(s.store, id); };
  Settings reply;
  reply.settings = co_await offload(s, std::move(read));
  co_return reply;
}

/// Each in place of what had its path and key; one without a value goes.
asio::awaitable<Result<Empty>> put(Services& s, Context context, Settings request) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  const auto turn = co_await s.settings.take(user->id);
  auto read = [&s, id = user->id] { return read_settings(s.store, id); };
  auto settings = co_await offload(s, std::move(read));
  for (auto& changed : request.settings) {
    if (changed.key.empty()) co_return invalid_argument("settings has an entry without a key");
    std::erase_if(settings, [&](const auto& known) {
      return known.key == changed.key && known.storage_path == changed.storage_path;
    });
    if (!changed.value.empty()) settings.push_back(std::move(changed));
  }
  auto text = json::serialize(json::to_json(settings));
  if (text.size() > kSettingsBytesMax)
    co_return invalid_argument("the settings of user {} would have {} bytes; at most {} are allowed",
                               user->username, text.size(), kSettingsBytesMax);
  std::vector<store::Change> changes;
  changes.push_back(store::PutSetting{key_of(user->id), std::move(text)});
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

asio::awaitable<Result<Empty>> reset(Services& s, Context context) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  std::vector<store::Change> changes;
  changes.push_back(store::PutSetting{key_of(user->id), "[]"});
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

}  // namespace

void add_account_routes(http::Router& router, Services& s) {
  const std::string tag = "Users";
  router.add<Empty, CurrentUserReply>(
      Verb::Get, "/api/v1/auth/user",
      [&s](Context c, Empty) -> asio::awaitable<Result<CurrentUserReply>> {
        const auto user = require_user(c.principal);
        if (!user) co_return tl::unexpected(user.error());
        co_return CurrentUserReply{to_api(s.auth.users().at(user->id))};
      },
      Doc{.summary = "Get the user who makes the call", .tag = tag});
  router.add<Empty, Settings>(
      Verb::Get, "/api/v1/users/setting", [&s](Context c, Empty) { return get(s, std::move(c)); },
      Doc{.summary = "List the settings that the web pages store for the caller", .tag = tag});
  router.add<Settings, Empty>(
      Verb::Post, "/api/v1/users/setting",
      [&s](Context c, Settings r) { return put(s, std::move(c), std::move(r)); },
      Doc{.summary = "Store settings for the caller; a setting without a value is deleted", .tag = tag});
  router.add<Empty, Empty>(
      Verb::Post, "/api/v1/users/setting/reset", [&s](Context c, Empty) { return reset(s, std::move(c)); },
      Doc{.summary = "Delete all settings of the caller", .tag = tag});
}

}  // namespace det::master
