#include "det/pytorch/data_feed.h"

#include <dlfcn.h>

namespace det::pytorch {

void compute_alone() {
  // at::set_num_threads would hold for threads that are still to come; OpenMP's own setting is this thread's.
  using SetThreads = void (*)(int);
  if (auto* set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(1);
}

}  // namespace det::pytorch
