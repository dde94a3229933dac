// `det-shim <directory>`: the shim as a program of its own, for tests and for
// agents that are not the `det` binary (which has it as `det shim`).
#include <cstdio>

#include "det/agent/shim/shim.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: det-shim <directory with spec.json>\n");
    return 2;
  }
  return det::agent::run_shim(argv[1]);
}
