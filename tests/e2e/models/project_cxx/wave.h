#pragma once

constexpr double kFrequency = 2.0;

/// What the model learns.
double wave(double at);
