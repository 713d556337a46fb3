// Standard headers and macros that OneFlow's sources use wherever they include one of its headers;
// with -DONEOP_PORT alone, see port.h.
#ifndef ONEOP_SDK_PORT_BASICS_H_
#define ONEOP_SDK_PORT_BASICS_H_

#include <algorithm>
#include <array>
#include <cassert>
#include <cfenv>
#include <cfloat>
#include <climits>
#include <complex>
#include <deque>
#include <functional>
#include <iostream>
#include <limits>
#include <list>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "oneflow/core/common/data_type_seq.h"
#include "oneflow/core/common/preprocessor.h"
#include "oneflow/core/common/switch_func.h"
#include "oneflow/core/common/util.h"

#ifndef unlikely
#define likely(x) OF_LIKELY(x)
#define unlikely(x) OF_UNLIKELY(x)
#endif

#endif  // ONEOP_SDK_PORT_BASICS_H_
