// det-trial: the process of a trial in C++. Agents start it without arguments; `det experiment create
// --local` with `local`.

#include "det/pytorch/program/program.h"

int main(int argc, char** argv) {
  return det::pytorch::program(argc, argv);
}
