// A ring's entries as requests, and answers as its completions.
#pragma once

#include <array>
#include <vector>

#include "package/executable.h"
#include "runtime/request.h"
#include "service/places.h"
#include "shm/ring_layout.h"

namespace sluice::service {

/// What a request from a ring keeps until it is answered.
struct RingRequest {
  std::vector<exec::TensorView> inputs;             ///< by signature index
  std::vector<PlacedOutput> outputs;                ///< by signature index
  std::vector<std::shared_ptr<const void>> owners;  ///< of the inputs' memory
};

/// Checks an entry that was copied out of a ring. `in_place`: as Service::in_place_inputs.
/// Requires: no more tensors than fit an entry.
/// Fails: kBadInput naming the tensor; as open_input and open_output.
Result<RingRequest> read_ring_request(const shm::Submission& entry,
                                      const package::Signature& signature, const Session& session,
                                      const std::vector<bool>* in_place);

/// Stores the outputs where `request` wants them. What fails becomes the completion's message.
void write_completion(const runtime::Reply& reply, const RingRequest& request,
                      const package::Signature& signature, shm::Completion& to);
void write_completion(const Status& status, shm::Completion& to);

}  // namespace sluice::service
