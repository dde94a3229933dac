#pragma once

/// What libdet_pytorch shows to the programs and trials that link it; everything else in it is hidden.
#define DET_PYTORCH_API __attribute__((visibility("default")))
