#include "det/pytorch/program/program.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "det/pytorch/compile/build.h"
#include "det/pytorch/program/output.h"
#include "det/pytorch/program/run_local.h"
#include "det/pytorch/program/run_process.h"
#include "det/pytorch/program/run_warm.h"
#include "det/pytorch/program/sdk.h"
#include "det/version.h"

namespace det::pytorch {

namespace {

int prepare() {
  const BuildOptions options{.directory = {},
                             .file = {},
                             .cache = cache_directory(),
                             .sdk = own_sdk(),
                             .variable = [](const char* name) { return std::getenv(name); },
                             .log = print_info,
                             .compiler_says = print_plain};
  if (const auto prepared = prepare_headers(options); !prepared) {
    print_error(prepared.error().message());
    return 1;
  }
  return 0;
}

}  // namespace

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
}

int program(int argc, char** argv) {
  keep_freed_memory();
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "local") return run_local_directory(argc, argv);
  if (command == "prepare" && argc == 2) return prepare();
  if (command == "warm" && argc == 2) return run_warm_worker();
  if (command == "--version") {
    std::puts("det-trial " DET_VERSION);
    return 0;
  }
  if (argc > 1) {
    std::fputs("usage: det-trial [local CONFIG DIRECTORY … | prepare | --version]\n", stderr);
    return 2;
  }
  const int status = run_trial_process();
  std::fflush(stdout);
  std::fflush(stderr);
  ::_exit(status);  // taking the process apart would cost time for nothing
}

}  // namespace det::pytorch
