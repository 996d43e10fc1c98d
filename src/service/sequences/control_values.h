// The values of the inputs that tell a model where in its sequence a request is.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "terms/server/declared_model.h"
#include "terms/tensors/sequence.h"
#include "terms/tensors/tensor.h"

namespace sluice::service {

/// The bytes of one element. Fails: kUnimplemented for a type that the control cannot have.
Result<Bytes> flag_bytes(const terms::SequenceControl& control, bool value);
/// The same of a correlation id. Fails: kBadInput for an id that the type does not hold.
Result<Bytes> id_bytes(const terms::SequenceControl& control, const terms::SequencePart& part);

}  // namespace sluice::service
