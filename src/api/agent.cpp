#include "det/api/agent.h"

#include <algorithm>
#include <set>

#include "det/base/text.h"

namespace det::api {

namespace {

constexpr std::size_t kNameBytesMax = 200;
constexpr std::size_t kSlotsMax = 4096;
constexpr std::size_t kAttributesMax = 64;
constexpr double kGraceSecondsMax = 24 * 3600;

Error wrong(std::string message) {
  return Error(ErrorCode::InvalidArgument, std::move(message));
}

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", text.substr(0, kNameBytesMax));
}

}  // namespace

bool is_name(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= kNameBytesMax && text.front() != '.' &&
         std::ranges::all_of(text, allowed);
}

std::optional<Error> problem(const DesiredAllocation& a) {
  if (!is_name(a.allocation_id))
    return wrong(fmt::format("allocation id {} is not a valid name", quoted(a.allocation_id)));
  const auto within = [&](std::string text) {
    return wrong(fmt::format("allocation {}: {}", a.allocation_id, text));
  };
  if (!a.model_definition.empty() && !is_name(a.model_definition))
    return within(fmt::format("model definition digest {} is not a valid name", quoted(a.model_definition)));
  if (a.slot_ids.size() > kSlotsMax)
    return within(fmt::format("has {} slots; at most {} are allowed", a.slot_ids.size(), kSlotsMax));
  if (std::set<int>(a.slot_ids.begin(), a.slot_ids.end()).size() != a.slot_ids.size())
    return within("slotIds has a slot twice");
  const auto ranks = static_cast<std::int64_t>(a.ranks());
  if (a.rank_start < 0 || a.rank_start + ranks > a.size)
    return within(fmt::format("ranks {} to {} are outside the size of {}", a.rank_start,
                              a.rank_start + ranks - 1, a.size));
  if (!(a.grace_seconds >= 0 && a.grace_seconds <= kGraceSecondsMax))
    return within(
        fmt::format("graceSeconds is {}; it must be from 0 to {}", a.grace_seconds, kGraceSecondsMax));
  for (const auto& word : a.command)
    if (word.find('\0') != std::string::npos) return within("its command has a NUL byte");
  if (!a.work_dir.empty() && (a.work_dir.front() != '/' || a.work_dir.find('\0') != std::string::npos))
    return within(fmt::format("workDir is {}; it must be an absolute path", quoted(a.work_dir)));
  for (const auto& [name, text] : a.environment) {
    if (name.empty() || name.find('=') != std::string::npos || name.find('\0') != std::string::npos)
      return within(fmt::format("environment variable {} does not have a valid name", quoted(name)));
    if (text.find('\0') != std::string::npos)
      return within(fmt::format("environment variable {} has a NUL byte", name));
  }
  return std::nullopt;
}

std::optional<Error> problem(const SyncRequest& request) {
  if (!is_name(request.session)) return wrong("session is not a valid name");
  if (request.slots.size() > kSlotsMax)
    return wrong(
        fmt::format("the agent has {} slots; at most {} are allowed", request.slots.size(), kSlotsMax));
  std::set<int> slots;
  for (const auto& slot : request.slots)
    if (!slots.insert(slot.id).second) return wrong(fmt::format("slot {} is listed twice", slot.id));
  if (request.attributes.size() > kAttributesMax)
    return wrong(fmt::format("the agent has {} attributes; at most {} are allowed", request.attributes.size(),
                             kAttributesMax));
  for (const auto& [name, value] : request.attributes)
    if (!is_name(name) || !is_name(value))
      return wrong(fmt::format("attribute {}={} has characters other than letters, digits, dots, - and _",
                               quoted(name), quoted(value)));
  std::set<std::string> allocations;
  for (const auto& report : request.allocations) {
    if (!is_name(report.allocation_id))
      return wrong(fmt::format("allocation id {} is not a valid name", quoted(report.allocation_id)));
    if (!allocations.insert(report.allocation_id).second)
      return wrong(fmt::format("allocation {} is listed twice", report.allocation_id));
  }
  return std::nullopt;
}

std::optional<Error> problem(const LogBatch& batch) {
  if (!is_name(batch.allocation_id))
    return wrong(fmt::format("allocation id {} is not a valid name", quoted(batch.allocation_id)));
  if (batch.entries.size() > kLogBatchEntriesMax)
    return wrong(fmt::format("the batch has {} log entries; at most {} are allowed", batch.entries.size(),
                             kLogBatchEntriesMax));
  for (std::size_t i = 0; i < batch.entries.size(); ++i) {
    const auto& entry = batch.entries[i];
    const auto within = [&](std::string text) { return wrong(fmt::format("entries[{}].{}", i, text)); };
    if (entry.stdtype != "stdout" && entry.stdtype != "stderr")
      return within(fmt::format("stdtype is {}; it must be stdout or stderr", quoted(entry.stdtype)));
    if (entry.sequence < 0 || entry.rank < 0) return within("rank or sequence is negative");
    if (entry.encoding.empty()) {
      if (!is_utf8(entry.log)) return within("log is not UTF-8; send it as base64");
      if (entry.log.size() > kLogPieceBytesMax)
        return within(
            fmt::format("log has {} bytes; at most {} are allowed", entry.log.size(), kLogPieceBytesMax));
    } else if (entry.encoding == "base64") {
      const auto bytes = base64_decode(entry.log);
      if (!bytes) return within("log is not base64");
      if (bytes->size() > kLogPieceBytesMax)
        return within(
            fmt::format("log has {} bytes; at most {} are allowed", bytes->size(), kLogPieceBytesMax));
    } else {
      return within(fmt::format("encoding is {}; it must be empty or base64", quoted(entry.encoding)));
    }
  }
  return std::nullopt;
}

}  // namespace det::api
