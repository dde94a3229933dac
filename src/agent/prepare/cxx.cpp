#include "det/agent/prepare/cxx.h"

namespace det::agent {

namespace fs = std::filesystem;

fs::path cxx_cache(const fs::path& state_dir) {
  return state_dir / "cxx";
}

Result<void> prepare_cxx(const AgentOptions& options, const fs::path& state_dir) {
  std::error_code error;
  if (options.cxx_program.empty() || !fs::exists(options.cxx_program, error))
    return failed_precondition(
        "this agent cannot run C++ trials, because there is no program det-trial next to det. Build det with "
        "a PyTorch wheel that CMake finds");
  fs::create_directories(cxx_cache(state_dir), error);
  if (!error) return {};
  const auto code =
      error == std::errc::no_space_on_device ? ErrorCode::ResourceExhausted : ErrorCode::Unavailable;
  return fail(code, "cannot create the directory {}: {}", cxx_cache(state_dir).string(), error.message());
}

}  // namespace det::agent
