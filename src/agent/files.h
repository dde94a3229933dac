#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "det/base/error.h"
#include "det/base/time.h"

namespace det::agent {

/// Puts `content` in the place of what `path` holds, so that a reader sees the
/// old or the new, never a part. With `sync` it is on disk when this returns.
std::optional<Error> replace_file(const std::filesystem::path& path, const std::string& content, bool sync);
/// The same with `sync`; the former file stays beside it, as `<path>.new`, because file systems take longer
/// to create and delete files than to write them.
std::optional<Error> replace_often(const std::filesystem::path& path, const std::string& content);
std::optional<Error> sync_directory(const std::filesystem::path& path);

/// Writes all of `content`; errno says why not.
bool write_all(int fd, std::string_view content);

/// One write to a file that is there, such as the kernel's in /proc and /sys; whether all was taken.
bool write_control_file(const std::filesystem::path& path, std::string_view content);

/// NotFound when there is no such file; another code when it cannot be read.
Result<std::string> read_small_file(const std::filesystem::path& path, std::size_t bytes_max = 16 << 20);

/// 16 random hexadecimal digits.
std::string random_hex();

/// Microseconds that this machine has been up, the time asleep included (CLOCK_BOOTTIME): what leases are
/// counted on. The same for all processes of a machine; only differences and this boot's values mean
/// anything.
Time boot_time();

/// Field 22 of /proc/<pid>/stat; absent when there is no such process.
std::optional<std::int64_t> process_start_time(std::int64_t pid);
/// The same, of the content of such a file.
std::optional<std::int64_t> process_start_time_of(std::string_view stat);

}  // namespace det::agent
