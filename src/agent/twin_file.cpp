#include "det/agent/twin_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/crc.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "det/agent/files.h"

namespace det::agent {

namespace {

constexpr std::string_view kBegin = "{\"crc32\":\"";
constexpr std::size_t kHead = kBegin.size() + 8 + 2;  // the sum, and `",`
constexpr std::size_t kBlock = 4096;                  // a file whose size stays needs no journal

std::string sum_of(std::string_view text) {
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), text.size());
  return fmt::format("{:08x}", crc.checksum());
}

std::string text_of(const json::object& content) {
  const auto rest = json::serialize(content).substr(1);
  auto text = fmt::format("{}{}\",{}\n", kBegin, sum_of(rest), rest);
  text.resize((text.size() + kBlock - 1) / kBlock * kBlock, ' ');
  return text;
}

/// Nothing: it is not complete. Copies of earlier versions have no sum.
std::optional<json::object> content_of(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \n") + 1);
  if (text.starts_with(kBegin) &&
      (text.size() < kHead || sum_of(text.substr(kHead)) != text.substr(kBegin.size(), 8)))
    return std::nullopt;
  auto value = json::parse(text);
  if (!value || !value->is_object()) return std::nullopt;
  return std::move(value->get_object());
}

std::int64_t number_of(const json::object& content) {
  const auto* number = content.if_contains("number");
  const auto found = number == nullptr ? std::nullopt : json::to_int64(*number);
  return found.value_or(0);
}

/// Whether the file was there, and has the text on disk now. Nothing is lost if it was cut short: it is the
/// older copy.
Result<bool> overwrite(const std::filesystem::path& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  struct stat status{};
  const auto size = static_cast<off_t>(text.size());
  const bool written = ::fstat(fd, &status) == 0 && write_all(fd, text) &&
                       (status.st_size <= size || ::ftruncate(fd, size) == 0) && ::fdatasync(fd) == 0;
  const int error = errno;
  ::close(fd);
  if (!written)
    return fail(ErrorCode::Unavailable, "cannot write {}: {}", path.string(), std::strerror(error));
  return true;
}

}  // namespace

Result<json::object> TwinFile::read() {
  std::optional<json::object> newest;
  std::optional<Error> trouble;
  bool newest_is_other = false;
  for (const auto& path : {path_, other()}) {
    const auto text = read_small_file(path);
    if (!text) {
      if (path == path_ || text.error().code() != ErrorCode::NotFound) trouble = text.error();
      continue;
    }
    auto content = content_of(*text);
    if (content && path == path_ && !text->starts_with(kBegin)) {
      number_ = 0;
      overwrites_ = false;
      return *std::move(content);  // An earlier version wrote it, and knew of no numbers.
    }
    if (!content && path == path_) trouble = Error(ErrorCode::Internal, path.string() + " is damaged");
    if (content && (!newest || number_of(*content) > number_of(*newest))) {
      newest = std::move(content);
      newest_is_other = path != path_;
    }
  }
  if (newest_is_other) {  // The next write would overwrite it.
    if (!exchange() && std::rename(other().c_str(), path_.c_str()) != 0)
      return fail(ErrorCode::Unavailable, "cannot rename {}: {}", other().string(), std::strerror(errno));
    if (auto error = sync_directory(path_.parent_path())) return tl::unexpected(*std::move(error));
  }
  if (!newest) return tl::unexpected(trouble ? *trouble : Error(ErrorCode::Internal, "damaged"));
  number_ = number_of(*newest);
  overwrites_ = true;
  return *std::move(newest);
}

Result<void> TwinFile::write(json::object content) {
  content["number"] = ++number_;
  const auto text = text_of(content);
  if (overwrites_) {
    DET_TRY(const auto overwritten, overwrite(other(), text));
    if (overwritten && exchange()) return {};
  }
  if (auto error = replace_often(path_, text)) return tl::unexpected(*std::move(error));
  overwrites_ = true;
  return {};
}

bool TwinFile::exchange() const {
  return ::renameat2(AT_FDCWD, other().c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) == 0;
}

}  // namespace det::agent
