// Does not compile.
#include <det/pytorch.h>

class BrokenTrial final : public det::pytorch::PyTorchTrial<> {
 public:
  using PyTorchTrial::PyTorchTrial;
  DataLoader<> build_training_data_loader() override { return no_such_function(); }
};

DET_TRIAL(BrokenTrial)
