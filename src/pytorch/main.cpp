// det-trial: the process of a trial in C++. Agents start it without arguments; `det experiment create
// --local` with `local`.

#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "det/pytorch/program.h"

int main(int argc, char** argv) {
  // Freed memory of big tensors is kept: given back to the kernel it would be faulted in again at every
  // batch, which makes convolutions a quarter slower (docs/decisions/0013).
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  return det::pytorch::program(argc, argv);
}
