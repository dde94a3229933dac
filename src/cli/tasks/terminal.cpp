#include "det/cli/tasks/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace det::cli {
namespace {

constexpr int kInterrupted = 3;

// What the signal handler may touch.
volatile sig_atomic_t echo_is_off = 0;
volatile sig_atomic_t reading_answer = 0;
termios saved_terminal;

void restore_echo() {
  if (echo_is_off) ::tcsetattr(STDIN_FILENO, TCSANOW, &saved_terminal);
  echo_is_off = 0;
}

extern "C" void on_interrupt(int) {
  if (reading_answer) return;  // read() fails with EINTR: the answer is no
  restore_echo();
  static constexpr char kPlain[] = "\nInterrupting...\n";
  static constexpr char kRed[] = "\n\x1b[31mInterrupting...\x1b[0m\n";
  const bool colour = ::isatty(STDERR_FILENO) && std::getenv("NO_COLOR") == nullptr;
  [[maybe_unused]] const auto written = colour ? ::write(STDERR_FILENO, kRed, sizeof kRed - 1)
                                               : ::write(STDERR_FILENO, kPlain, sizeof kPlain - 1);
  ::_exit(kInterrupted);
}

// A byte at a time, so that what follows the line stays for the next reader.
std::optional<std::string> read_line(bool echo) {
  if (!echo && ::isatty(STDIN_FILENO) && ::tcgetattr(STDIN_FILENO, &saved_terminal) == 0) {
    auto silent = saved_terminal;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    echo_is_off = 1;
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  }
  reading_answer = echo ? 1 : 0;
  std::optional<std::string> line = std::string();
  while (true) {
    char c = 0;
    const auto count = ::read(STDIN_FILENO, &c, 1);
    if (count == 1 && c == '\n') break;
    if (count == 1) {
      *line += c;
      continue;
    }
    if (count == 0 && !line->empty()) break;
    line.reset();
    break;
  }
  reading_answer = 0;
  restore_echo();
  return line;
}

/// What was closed shall not become a connection or a file that output is then written into: what writes to
/// it fails.
void hold_closed_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) [[maybe_unused]]
      const int held = ::open("/dev/null", O_RDONLY);
}

}  // namespace

TerminalSize terminal_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return {size.ws_col, size.ws_row};
}

Streams process_streams() {
  hold_closed_streams();
  std::ios::sync_with_stdio(false);
  const auto size = terminal_size();
  const char* no_colour = std::getenv("NO_COLOR");
  return {.out = std::cout,
          .err = std::cerr,
          .read_line = read_line,
          .out_tty = ::isatty(STDOUT_FILENO) == 1,
          .err_tty = ::isatty(STDERR_FILENO) == 1,
          .colour = no_colour == nullptr || *no_colour == '\0',
          .columns = size.columns > 0 ? size.columns : 80};
}

void end_on_interrupt() {
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a read must end
  ::sigaction(SIGINT, &action, nullptr);
}

}  // namespace det::cli
