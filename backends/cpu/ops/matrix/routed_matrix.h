#pragma once

#include "plugin/registry.h"

namespace sluice::cpu {

/// The entry of sluice::RoutedMatMul, which belongs to the family of sluice::NarrowMatMul.
OpEntry routed_matrix_entry();

}  // namespace sluice::cpu
