// The processes that agent_test.cpp starts and kills:
//   det-agent-test agent <master url> <state dir> [warm|stop]
//   det-agent-test warm          a warm worker that runs the spec's "script" by bash
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <cstring>

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
  if (argc > 4 && std::strcmp(argv[4], "warm") == 0) {
    options.python = "/proc/self/exe";
    options.trial_command = {"cold"};
    options.warm_command = {"warm"};
    options.warm_frameworks = {"pytorch"};
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

int run_warm_worker() {
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
      ::_exit(run_shim(directory, [] {
        std::printf("warm\n");
        std::fflush(stdout);
        return WEXITSTATUS(std::system(process_environment()["SCRIPT"].c_str()));
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
  if (argc == 2 && std::strcmp(argv[1], "warm") == 0) return det::agent::run_warm_worker();
  return 2;
}
