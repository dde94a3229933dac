#include "det/master/elastic/run_program.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/process.hpp>
#include <future>

namespace det::master {

namespace bp = boost::process;

Result<ProgramEnd> run_program(const std::vector<std::string>& words, const std::string& input,
                               const std::map<std::string, std::string>& environment,
                               std::chrono::seconds timeout) {
  const auto program = words.front().starts_with('/') ? boost::filesystem::path(words.front())
                                                      : bp::search_path(words.front());
  if (program.empty() || !boost::filesystem::exists(program))
    return fail(ErrorCode::NotFound, "the command {} was not found; install it, or add it to the PATH of the master",
                words.front());
  bp::environment variables = boost::this_process::environment();
  for (const auto& [name, value] : environment) variables[name] = value;
  boost::asio::io_context context;
  std::future<std::string> out, err;
  std::error_code failed;
  bp::child child(bp::exe = program, bp::args = std::vector<std::string>(words.begin() + 1, words.end()),
                  variables, bp::std_in < boost::asio::buffer(input), bp::std_out > out, bp::std_err > err, context,
                  failed, bp::start_dir = "/");
  if (failed) return fail(ErrorCode::Unavailable, "cannot run {}: {}", words.front(), failed.message());
  context.run_for(timeout);
  if (!context.stopped()) {
    child.terminate(failed);
    child.wait(failed);
    return fail(ErrorCode::Unavailable, "{} has not answered for {} s", words.front(), timeout.count());
  }
  child.wait(failed);
  return ProgramEnd{.status = child.exit_code(), .out = out.get(), .err = err.get()};
}

}  // namespace det::master
