#include "wave.h"

#include <cmath>

double wave(double at) {
  return std::sin(kFrequency * at);
}
