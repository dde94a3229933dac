#include "det/pytorch/ranks/stacks.h"

#include <execinfo.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string_view>

namespace det::pytorch {

namespace {

// Between threads, so that no user's handler is in the way. All of what handlers call is safe in them, or was
// called once before (backtrace loads a library the first time).
const int kShowYourself = SIGRTMIN + 5;
constexpr int kFramesMax = 64;

constexpr std::size_t kDoingBytesMax = 200;
constexpr std::size_t kCrashStackBytes = 64 * 1024;

std::atomic<int> g_shown{0};
char g_doing[kDoingBytesMax + 1] = "";
alignas(16) char g_crash_stack[kCrashStackBytes];

void say(std::string_view text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

void show_this_thread(int) {
  const int error = errno;
  char name[32] = "thread ";
  const auto end = std::to_chars(name + 7, name + sizeof name - 2, ::syscall(SYS_gettid)).ptr;
  *end = ':';
  *(end + 1) = '\n';
  say({name, static_cast<std::size_t>(end + 2 - name)});
  void* frames[kFramesMax];
  const int count = ::backtrace(frames, kFramesMax);
  ::backtrace_symbols_fd(frames, count, STDERR_FILENO);
  ++g_shown;
  errno = error;
}

/// Asks one thread, and gives it a moment to write.
void ask(const char* name, long self) {
  long id = 0;
  const auto* end = name + std::strlen(name);
  if (std::from_chars(name, end, id).ptr != end || id == self) return;
  const int before = g_shown;
  if (::syscall(SYS_tgkill, ::getpid(), id, kShowYourself) != 0) return;
  for (int i = 0; i < 50 && g_shown == before; ++i) {
    const timespec moment{.tv_sec = 0, .tv_nsec = 2'000'000};
    ::nanosleep(&moment, nullptr);
  }
}

/// Without readdir, which allocates: a signal may have come in the middle of malloc.
void show_all_threads() {
  const auto self = ::syscall(SYS_gettid);
  if (const int tasks = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC); tasks >= 0) {
    alignas(8) char entries[4096];
    long count = 0;
    while ((count = ::syscall(SYS_getdents64, tasks, entries, sizeof entries)) > 0) {
      for (long at = 0; at < count;) {
        unsigned short length = 0;  // of linux_dirent64: inode, offset, length, type, name
        std::memcpy(&length, entries + at + 16, sizeof length);
        ask(entries + at + 19, self);
        at += length;
      }
    }
    ::close(tasks);
  }
  show_this_thread(0);
}

void asked(int) {
  const int error = errno;
  say("---- asked where it is. Its stacks:\n");
  show_all_threads();
  errno = error;
}

const char* name_of(int signal) {
  switch (signal) {
    case SIGSEGV: return "SIGSEGV (invalid memory access)";
    case SIGBUS: return "SIGBUS (invalid memory access)";
    case SIGFPE: return "SIGFPE (invalid arithmetic operation)";
    case SIGILL: return "SIGILL (invalid instruction)";
    default: return "SIGABRT (abort)";
  }
}

void crashed(int signal) {
  say("ERROR: determined: the trial crashed with ");
  say(name_of(signal));
  if (g_doing[0] != '\0') {
    say(" while ");
    say({g_doing, std::strlen(g_doing)});
  }
  say(". Its stack:\n");
  show_this_thread(signal);
  ::raise(signal);  // the handler is for one time: it ends now, as it would have
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void answer_stack_requests() {
  void* frames[1];
  ::backtrace(frames, 1);
  handle(kShowYourself, show_this_thread);
  handle(SIGUSR2, asked);
}

void tell_crashes() {
  void* frames[1];
  ::backtrace(frames, 1);
  stack_t own{};  // the thread's own may be what has run out
  own.ss_sp = g_crash_stack;
  own.ss_size = sizeof g_crash_stack;
  ::sigaltstack(&own, nullptr);
  struct sigaction action{};
  action.sa_handler = crashed;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(signal, &action, nullptr);
}

void set_doing(std::string_view doing) {
  const auto bytes = std::min(doing.size(), kDoingBytesMax);
  std::memcpy(g_doing, doing.data(), bytes);
  g_doing[bytes] = '\0';
}

std::string doing() {
  return g_doing;
}

void print_stacks(const std::string& title) {
  handle(kShowYourself, show_this_thread);
  say("---- " + title + ". Its stacks:\n");
  show_all_threads();
}

}  // namespace det::pytorch
