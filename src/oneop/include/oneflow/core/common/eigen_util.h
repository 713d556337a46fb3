// Maps of Eigen over tensors. Eigen is a library of its own.
#ifndef ONEFLOW_CORE_COMMON_EIGEN_UTIL_H_
#define ONEFLOW_CORE_COMMON_EIGEN_UTIL_H_

#if !__has_include("Eigen/Dense")
#error this file uses Eigen: install it (Debian: libeigen3-dev) and add its folder to include_dirs
#else
#include "Eigen/Dense"
#include "oneop/sdk/port.h"

namespace oneflow ONEOP_HIDDEN {

template <class T>
using EigenMatrixMap = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> >;
template <class T>
using EigenArrayMap = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic> >;
template <class T>
using ConstEigenMatrixMap = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> >;
template <class T>
using ConstEigenArrayMap = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic> >;

}  // namespace oneflow ONEOP_HIDDEN
#endif

#endif  // ONEFLOW_CORE_COMMON_EIGEN_UTIL_H_
