#pragma once

#include <sys/types.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "det/base/error.h"

/// Files and directories through descriptors: what storage on a file system is made of.
namespace det::checkpoint {

/// The operation cannot go on. Thrown inside this module, never out of it.
struct Failure : std::exception {
  explicit Failure(Error why) : error(std::move(why)) {}
  const char* what() const noexcept override { return error.message().c_str(); }
  Error error;
};

/// Throws what `errno` says about `doing`, such as "cannot create /data/x". Knows
/// not found, no permission and no space from the rest.
[[noreturn]] void throw_errno(const std::string& doing, int error_number);

/// An open file or directory, closed at the end of its life.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Fd();
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// Opens what is beneath `parent` without following any symbolic link in
/// `name`, which may have several components. `shown` is the path in messages.
Fd open_directory_beneath(int parent, const std::string& name, const std::string& shown);
Fd open_file_beneath(int parent, const std::string& name, const std::string& shown);

/// Creates a file or directory that must not exist yet.
Fd create_file(int parent, const std::string& name, const std::string& shown);
void create_directory(int parent, const std::string& name, const std::string& shown);

/// A new file with this content, on the disk; and the reverse, from the file's position.
void write_text(int parent, const std::string& name, const std::string& text, const std::string& shown);
std::string read_text(int file, const std::string& shown);

/// A file that is to be saved. A pipe that came into its place does not block.
Fd open_source(const std::string& path);

/// Empties a file, to write it from its beginning.
void start_again(int file, const std::string& shown);

/// Writes at the file's position.
void write_all(int file, std::string_view data, const std::string& shown);

/// Whether there is anything of that name, a dangling link included.
bool exists_beneath(int parent, const std::string& name, const std::string& shown);

/// The names in a directory, sorted, without "." and "..".
std::vector<std::string> names_in(int directory, const std::string& shown);

/// Deletes a file, or a directory with all in it; links are deleted, not followed.
/// Already gone is success.
void remove_tree(int parent, const std::string& name, const std::string& shown);

/// Flushes a file or directory to the disk; begins to, without waiting.
void sync(int file, const std::string& shown);
void begin_sync(int file);

/// Files that are written and not yet on the disk. Many at once share the work of a journal, which is most of
/// it where files are small.
class Unsynced {
 public:
  void add(Fd file, std::string shown);
  void sync_all();

 private:
  static constexpr std::size_t kOpenMax = 128;
  std::vector<std::pair<Fd, std::string>> files_;
};

/// The newest modification in a tree, in seconds since 1970.
std::int64_t newest_change(int parent, const std::string& name, const std::string& shown);

struct Member {
  std::string name;  ///< relative, "a/b.pth"; a directory ends in "/"
  std::int64_t bytes = 0;
  bool is_directory() const { return name.ends_with('/'); }
};

/// Everything in a directory, a directory before what is in it. Refuses what
/// cannot be saved (see Storage::save) and trees deeper than 100 directories.
std::vector<Member> scan(const std::filesystem::path& directory);

/// A directory that is empty or made here. What came into it goes again at the end, unless it is kept.
class EmptyDirectory {
 public:
  explicit EmptyDirectory(std::filesystem::path path);
  ~EmptyDirectory();
  EmptyDirectory(const EmptyDirectory&) = delete;
  EmptyDirectory& operator=(const EmptyDirectory&) = delete;
  void keep() { kept_ = true; }

 private:
  std::filesystem::path path_;
  bool created_ = false;
  bool kept_ = false;
};

/// Whether `name` is a relative path that stays inside, in its only spelling.
bool is_member_name(std::string_view name);

}  // namespace det::checkpoint
