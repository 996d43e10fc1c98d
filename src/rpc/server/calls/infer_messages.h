// The messages of an inference by sluice.v1, and what they keep alive.
#pragma once

#include "base/byte_budget.h"
#include "proto/sluice/v1/inference.pb.h"
#include "service/region_slices.h"

namespace sluice::rpc::server {

struct InferMessages {
  v1::InferRequest request;
  v1::InferResponse response;
  service::PlacedTensors placed;
  ByteCharge charge;  ///< of the response
};

}  // namespace sluice::rpc::server
