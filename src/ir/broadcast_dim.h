// The size that two dimensions have when their tensors are broadcast together.
#pragma once

#include "ir/dim.h"

namespace sluice::ir {

/// The dimension that is not 1. A number other than 1 wins over a symbol, as broadcasting demands.
/// Two symbols give "broadcast(M,N)", since either may turn out to be 1. Order and repetition do
/// not matter: broadcast(broadcast(N,M),N) is "broadcast(M,N)". Two different numbers other than 1
/// give Dim::overflow().
Dim broadcast(const Dim& a, const Dim& b);

/// Whether `part` is 1 or equal to `whole` for all values of their symbols with which the
/// broadcasts in them are valid. A false answer may be wrong.
bool broadcasts_into(const Dim& part, const Dim& whole);

}  // namespace sluice::ir
