// A seed for kernels that are not given one.
#ifndef ONEOP_SDK_RANDOM_SEED_H_
#define ONEOP_SDK_RANDOM_SEED_H_

#include <random>

#include "oneop/sdk/config.h"

namespace oneflow ONEOP_HIDDEN {

inline int64_t NewRandomSeed() { return static_cast<int64_t>(std::random_device()()); }

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEOP_SDK_RANDOM_SEED_H_
