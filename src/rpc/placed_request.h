// The tensors of a request and its answer, whether they come and go as bytes or lie in shared
// memory.
#pragma once

#include <memory>
#include <vector>

#include "proto/sluice/v1/inference.pb.h"
#include "runtime/request.h"
#include "service/places.h"
#include "service/service.h"

namespace sluice::rpc {

/// What a request holds of its session's shared memory while it runs.
struct PlacedTensors {
  std::vector<std::shared_ptr<const void>> owners;  ///< of inputs
  std::vector<service::PlacedOutput> outputs;       ///< by signature index; null regions, or fewer
};

/// Inputs by signature index, borrowed from `wanted` and from `placed`, which is filled.
/// Fails: kBadInput naming the input that is missing, unknown or there twice, or an output that is
///        unknown; as view_of; as service::open_input.
Result<std::vector<exec::TensorView>> open_request(service::Service& service,
                                                   const service::Caller& caller,
                                                   const v1::InferRequest& wanted,
                                                   const package::Signature& signature,
                                                   PlacedTensors& placed);

/// An answer with outputs, or with none because there are none; each goes into the answer, or where
/// the client wants it. Fails: as service::store.
Status write_answer(const runtime::Reply& reply, const package::Signature& signature,
                    bool wants_detail, const PlacedTensors& placed, v1::InferResponse& to);

}  // namespace sluice::rpc
