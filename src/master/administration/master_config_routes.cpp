// The master's configuration: what it was started with, and what can be changed while it runs.

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "det/base/text.h"
#include "det/master/objects.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct MasterConfigReply {
  json::value config;
};
BOOST_DESCRIBE_STRUCT(MasterConfigReply, (), (config))
struct LogSettings {
  std::optional<std::string> level;
  std::optional<bool> color;
};
BOOST_DESCRIBE_STRUCT(LogSettings, (), (level, color))
struct LiveConfig {
  LogSettings log;
};
BOOST_DESCRIBE_STRUCT(LiveConfig, (), (log))
struct ConfigPatch {
  LiveConfig config;
  json::value field_mask;  ///< {"paths": ["log.level"]} or "log.level"; null: all that is there
};
BOOST_DESCRIBE_STRUCT(ConfigPatch, (), (config, field_mask))

constexpr std::string_view kLevelPath = "log.level";
constexpr std::string_view kColorPath = "log.color";

/// "LOG_LEVEL_DEBUG" or "debug".
Result<spdlog::level::level_enum> level_named(const std::string& text) {
  static const std::map<std::string, spdlog::level::level_enum> kLevels = {
      {"trace", spdlog::level::trace},      {"debug", spdlog::level::debug}, {"info", spdlog::level::info},
      {"warning", spdlog::level::warn},     {"warn", spdlog::level::warn},   {"error", spdlog::level::err},
      {"critical", spdlog::level::critical}};
  auto word = to_lower(text);
  if (word.starts_with("log_level_")) word.erase(0, std::string_view("log_level_").size());
  const auto found = kLevels.find(word);
  if (found == kLevels.end())
    return invalid_argument("log.level is '{}'; it must be trace, debug, info, warning, error or critical",
                            text);
  return found->second;
}

/// All that the mask names can be changed.
Result<void> check_mask(const json::value& mask) {
  std::vector<std::string> paths;
  if (mask.is_string()) paths.emplace_back(mask.get_string());
  if (mask.is_object())
    if (const auto* list = mask.get_object().if_contains("paths"); list != nullptr && list->is_array())
      for (const auto& path : list->get_array())
        if (path.is_string()) paths.emplace_back(path.get_string());
  for (const auto& path : paths)
    if (path != kLevelPath && path != kColorPath)
      return invalid_argument("'{}' cannot be changed while the master is running; only {} and {} can", path,
                              kLevelPath, kColorPath);
  return {};
}

/// Colors the log on the terminal, or not; a log in a file has no colors.
void set_color(bool color) {
  const auto mode = color ? spdlog::color_mode::always : spdlog::color_mode::never;
  for (const auto& sink : spdlog::default_logger()->sinks()) {
    if (auto* out = dynamic_cast<spdlog::sinks::stdout_color_sink_mt*>(sink.get())) out->set_color_mode(mode);
    if (auto* err = dynamic_cast<spdlog::sinks::stderr_color_sink_mt*>(sink.get())) err->set_color_mode(mode);
  }
}

asio::awaitable<Result<Empty>> patch_config(ConfigPatch request) {
  if (const auto fine = check_mask(request.field_mask); !fine) co_return tl::unexpected(fine.error());
  if (!request.config.log.level && !request.config.log.color)
    co_return invalid_argument(
        "the request changes nothing; set {} or {}, for example {{\"log\":{{\"level\":\"debug\"}}}}",
        kLevelPath, kColorPath);
  if (request.config.log.color) set_color(*request.config.log.color);
  if (!request.config.log.level) co_return Empty{};
  const auto level = level_named(*request.config.log.level);
  if (!level) co_return tl::unexpected(level.error());
  spdlog::default_logger()->set_level(*level);
  spdlog::log(*level, "log level set to {}", spdlog::level::to_string_view(*level));
  co_return Empty{};
}

}  // namespace

void add_master_config_routes(http::Router& router, json::object configuration) {
  if (auto* webhooks = configuration.if_contains("webhooks"); webhooks != nullptr && webhooks->is_object())
    if (auto* key = webhooks->get_object().if_contains("signing_key"); key != nullptr && !key->is_null())
      *key = "********";
  configuration = config::masked(configuration);
  auto& manager = configuration["resource_manager"];
  if (!manager.is_object()) manager = json::object();
  manager.get_object().emplace("type", "agent");
  configuration.emplace("feature_switches", json::array());
  router.add<Empty, MasterConfigReply>(
      Verb::Get, "/api/v1/master/config",
      [configuration = std::move(configuration)](Context,
                                                 Empty) -> asio::awaitable<Result<MasterConfigReply>> {
        auto config = configuration;
        const auto level = spdlog::level::to_string_view(spdlog::default_logger()->level());
        config["log"] = json::object{{"level", std::string_view(level.data(), level.size())}};
        co_return MasterConfigReply{std::move(config)};
      },
      Doc{.summary = "Get the configuration that the master was started with, and its log level",
          .tag = "Cluster"});
  router.add<ConfigPatch, Empty>(
      Verb::Patch, "/api/v1/master/config", [](Context, ConfigPatch r) { return patch_config(std::move(r)); },
      Doc{.summary = "Change the log level of the master, or the colors of its log, until it restarts",
          .tag = "Cluster",
          .errors = {ErrorCode::PermissionDenied}});
}

}  // namespace det::master
