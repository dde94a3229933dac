#include <det/pytorch/run.h>

int main(int argc, char** argv) {
  return det::pytorch::run(argc, argv);
}
