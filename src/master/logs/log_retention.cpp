#include "det/master/logs/log_retention.h"

#include "det/logging/log.h"

#include <algorithm>

#include "det/config/values/duration.h"
#include "det/master/administration/settings.h"
#include "det/master/services.h"

namespace det::master {

namespace {

constexpr std::int64_t kDay = 24 * 3600 * kSecond;
constexpr int kDaysMax = 32'767;
constexpr std::size_t kAtOnce = 200;

}  // namespace

Result<LogRetention> take_log_retention(json::object& configuration) {
  LogRetention settings;
  const auto value = take(configuration, "retention_policy");
  if (value.is_null()) return settings;
  if (!value.is_object())
    return invalid_argument("retention_policy is {}; it must be a map of settings", json::serialize(value));
  for (const auto& [key, setting] : value.get_object()) {
    const std::string_view name(key);
    if (setting.is_null()) continue;
    if (name == "log_retention_days") {
      const auto days = json::to_int64(setting);
      if (!days || *days < -1 || *days > kDaysMax)
        return invalid_argument(
            "retention_policy.log_retention_days is {}; it must be from -1 (forever) to {}",
            json::serialize(setting), kDaysMax);
      settings.days = static_cast<int>(*days);
    } else if (name == "schedule") {
      const auto seconds = setting.is_string()
                               ? config::duration_seconds(std::string_view(setting.get_string()))
                               : std::nullopt;
      if (!seconds || *seconds < 60)
        return invalid_argument(
            "retention_policy.schedule is {}; it must be a duration of at least one minute, such as 24h",
            json::serialize(setting));
      settings.every_seconds = *seconds;
    } else {
      return invalid_argument(
          "retention_policy.{} is not a known setting; use log_retention_days or schedule", name);
    }
  }
  return settings;
}

std::vector<std::string> expired_logs(const std::vector<store::EndedLog>& logs, int default_days, Time now) {
  std::vector<std::string> expired;
  for (const auto& log : logs) {
    const std::int64_t days = log.days.value_or(default_days);
    if (days >= 0 && now - log.ended >= days * kDay) expired.push_back(log.task_id);
  }
  return expired;
}

std::int32_t remaining_days(int days, std::optional<Time> ended, Time now) {
  if (days < 0) return -1;
  if (!ended) return days;
  const auto left = std::int64_t{days} * kDay - (now - *ended);
  return left <= 0 ? 0 : static_cast<std::int32_t>((left + kDay - 1) / kDay);
}

asio::awaitable<std::int64_t> clean_logs(Services& s) {
  struct Found {
    std::vector<std::string> expired;
    std::int64_t lines = 0;
  };
  auto find = [&s, days = s.log_retention.days, now = s.ledger.now()] {
    Found found{expired_logs(s.store.ended_logs(), days, now), 0};
    found.lines = s.store.count_log_lines(found.expired);
    return found;
  };
  const auto found = co_await offload(s, std::move(find));
  for (std::size_t at = 0; at < found.expired.size(); at += kAtOnce) {
    const auto begin = found.expired.begin() + static_cast<std::ptrdiff_t>(at);
    const auto count = std::min(kAtOnce, found.expired.size() - at);
    std::vector<store::Change> changes;
    changes.push_back(store::DropLogs{{begin, begin + static_cast<std::ptrdiff_t>(count)}});
    co_await s.ledger.write(std::move(changes));
  }
  if (!found.expired.empty())
    logging::info("deleted the expired logs of {} task(s): {} lines", found.expired.size(), found.lines);
  co_return found.lines;
}

}  // namespace det::master
