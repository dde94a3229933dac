// The processes that agent_test.cpp starts and kills:
//   det-agent-test agent <master url> <state dir> [stop|warm|held|broken]
//   det-agent-test warm          a warm worker that runs the spec's "script" by bash
//   det-agent-test held          the same, once the file "go" is in its directory
//   det-agent-test broken        a warm worker that ends at once
//   det-agent-test cold          a task outside of a warm worker
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "det/agent/agent.h"
#include "det/agent/async.h"
#include "det/agent/files.h"
#include "det/agent/shim/shim.h"
#include "det/agent/slots.h"
#include "det/base/json.h"

namespace det::agent {
namespace {

int run_agent_program(int argc, char** argv) {
  AgentOptions options;
  options.master_url = argv[2];
  options.agent_id = "test-agent";
  options.token = "agent-token";
  options.state_dir = argv[3];
  options.slots = 2;
  options.wait_milliseconds = 500;
  options.shim_command = {DET_SHIM_PROGRAM};
  // Tasks are shell scripts: the variable SCRIPT of their environment.
  options.python = "bash";
  options.trial_command = {"-c", "eval \"$SCRIPT\""};
  options.warm_frameworks.clear();
  if (argc > 4 && std::strcmp(argv[4], "stop") == 0) options.on_disconnect = OnDisconnect::Stop;
  if (argc > 4 && std::strcmp(argv[4], "stop") != 0) {
    options.python = std::filesystem::read_symlink("/proc/self/exe");  // the shim's would be the shim
    options.trial_command = {"cold"};
    options.warm_command = {argv[4]};
    options.warm_frameworks = {"pytorch"};
    if (const char* patience = std::getenv("DET_TEST_PATIENCE"))
      options.warm_patience = std::chrono::milliseconds(std::atoi(patience));
  }
  auto machine = detect_machine(options);
  asio::io_context context(1);
  int status = 0;
  asio::cancellation_signal stop;
  asio::signal_set signals(context, SIGTERM);
  signals.async_wait([&](boost::system::error_code, int) { stop.emit(asio::cancellation_type::terminal); });
  asio::co_spawn(
      context, run_agent(std::move(options), std::move(machine)),
      asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr failure, Result<void> result) {
        if (failure || !result) {
          status = 1;
          std::fprintf(stderr, "%s\n", failure ? "exception" : result.error().message().c_str());
        }
        context.stop();
      }));
  context.run();
  return status;
}

int run_script(const char* who) {
  std::printf("%s\n", who);
  std::fflush(stdout);
  return WEXITSTATUS(std::system(process_environment()["SCRIPT"].c_str()));
}

int run_warm_worker(bool held) {
  while (held && ::access("go", F_OK) != 0) ::usleep(5'000);
  char buffer[65536];
  while (true) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const auto got = ::recv(3, buffer, sizeof buffer, 0);
    if (got <= 0) return 0;
    const auto request = json::parse(std::string_view(buffer, static_cast<std::size_t>(got))).value();
    const auto directory = std::string(request.at("directory").as_string());
    if (::access((directory + "/spec.json").c_str(), R_OK) != 0) {
      const char* refusal = R"({"error":"no spec.json"})";
      ::send(3, refusal, std::strlen(refusal), 0);
      continue;
    }
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(3);
      ::_exit(run_shim(directory, [](const AnotherTask& another) {
        int status = 0;
        do {
          status = run_script("warm");
        } while (status == 0 && another && another([] { return true; }));
        return status;
      }));
    }
    const auto answer = fmt::format(R"({{"pid":{}}})", pid);
    ::send(3, answer.data(), answer.size(), 0);
  }
}

}  // namespace
}  // namespace det::agent

int main(int argc, char** argv) {
  if (argc >= 4 && std::strcmp(argv[1], "agent") == 0) return det::agent::run_agent_program(argc, argv);
  const std::string_view what = argc == 2 ? argv[1] : "";
  if (what == "warm" || what == "held") return det::agent::run_warm_worker(what == "held");
  if (what == "broken") return 3;
  if (what == "cold") return det::agent::run_script("cold");
  return 2;
}
