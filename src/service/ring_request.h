// A ring's entries as requests, and answers as its completions.
#pragma once

#include <vector>

#include "dispatch/model_ref.h"
#include "service/region_slices.h"
#include "shm/ring_layout.h"

namespace sluice::service {

/// The inputs by signature index, from an entry that was copied out of a ring; `placed` gets what
/// they and the outputs hold. Requires: no more tensors than fit an entry.
/// Fails: kBadInput naming the tensor; as open_input and open_output.
Result<std::vector<terms::TensorView>> read_ring_request(const shm::Submission& entry,
                                                         const dispatch::ModelRef& model,
                                                         const ClientSession& session,
                                                         PlacedTensors& placed);

/// Stores the outputs where `placed` says. What fails becomes the completion's message.
void write_completion(const runtime::Reply& reply, const PlacedTensors& placed,
                      const terms::Signature& signature, shm::Completion& to);
void write_completion(const Status& status, shm::Completion& to);

}  // namespace sluice::service
