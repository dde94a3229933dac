#pragma once

#include <fmt/format.h>

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace det::cli {

enum class Colour { Green, Yellow, Red };

/// What a command may know of the place that it runs in. Tests make their own.
struct Streams {
  std::ostream& out;
  std::ostream& err;
  /// Reads a line without its newline, with or without echo; nothing at the end
  /// of input or on Ctrl-C.
  std::function<std::optional<std::string>(bool echo)> read_line;
  bool out_tty = false;
  bool err_tty = false;
  bool colour = false;  ///< Wanted by the user (no NO_COLOR); applies to ttys only.
  int columns = 80;
};

/// The user's terminal, or the file or pipe that stands for it.
///
/// Results go to standard output, everything about them (warnings, errors,
/// prompts) to standard error, so that a pipe carries results only. Colours and
/// rewritten lines appear on terminals only.
class Console {
 public:
  explicit Console(Streams streams) : streams_(std::move(streams)) {}

  bool out_tty() const { return streams_.out_tty; }
  int columns() const { return streams_.columns; }

  void write(std::string_view text);  ///< As it is, without a newline.
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    write_line(fmt::format(format, std::forward<Args>(args)...));
  }
  void write_line(std::string_view text);
  void good(std::string_view text);  ///< Green, standard output.
  void note(std::string_view text);  ///< Yellow, standard output.
  void warn(std::string_view text);  ///< Yellow, standard error.
  void fail(std::string_view text);  ///< Red, standard error.
  void flush();
  /// Whether standard output took all of it so far.
  bool written() const;

  /// Shows `text` on a line that stays below everything else until it is
  /// replaced, finished or cleared. On anything but a terminal nothing appears.
  void status(std::string_view text);
  /// Replaces the status line, if there is one, by `text` for good.
  void finish_status(std::string_view text);
  /// Removes the status line.
  void clear_status();

  std::string paint(Colour colour, std::string_view text) const;

  /// A line that a task wrote: on a terminal, control characters are shown
  /// escaped, so that a log cannot move the cursor or set the title.
  void log_line(std::string_view text);

  /// Asks until the answer is yes or no. The end of input and Ctrl-C mean no.
  bool confirm(std::string_view prompt);
  std::optional<std::string> ask_password(std::string_view prompt);

 private:
  std::string paint(Colour colour, std::string_view text, bool tty) const;
  void complain(Colour colour, std::string_view text);

  Streams streams_;
  std::string status_;
};

/// `text` with control characters other than tab as \n, \r or \x1b.
std::string escape_controls(std::string_view text);

/// How many columns UTF-8 text takes: one for each code point.
std::size_t display_width(std::string_view text);

/// At most `columns` columns of `text`.
std::string clip(std::string_view text, std::size_t columns);

}  // namespace det::cli
