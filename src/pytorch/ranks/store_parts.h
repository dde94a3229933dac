#pragma once

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "det/pytorch/ranks/store.h"

namespace det::pytorch {

struct Store::Parts {
  c10::intrusive_ptr<c10d::TCPStore> store;
};

}  // namespace det::pytorch
