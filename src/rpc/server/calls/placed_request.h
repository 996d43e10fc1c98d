// The tensors of a request and its answer, whether they come and go as bytes, lie in shared memory
// or stay in the exchange.
#pragma once

#include <cstdint>

#include "base/byte_budget.h"
#include "dispatch/model_ref.h"
#include "proto/sluice/v1/inference.pb.h"
#include "runtime/request/request.h"
#include "service/region_slices.h"
#include "service/service.h"

namespace sluice::rpc::server {

/// Fills the tensors of `request`: inputs by signature index, borrowed from `wanted` and from
/// `placed`, which is filled, too. Blocks while an input comes from another device.
/// Fails: kBadInput naming the input that is missing, unknown or there twice, or an output that is
///        unknown; as view_of; as service::open_input and Exchange::get.
Status open_request(service::Service& service, const service::ClientSession& session,
                    const v1::InferRequest& wanted, const dispatch::ModelRef& model,
                    service::PlacedTensors& placed, runtime::Request& request);

/// Writes a reply with any number of outputs: each into the message, into the client's region
/// slice, or into the exchange. The message is charged before it is made: `charge` grows to its
/// size. Fails: as service::store and Exchange::put; kOutOfResources for a message beyond
/// `limit_bytes`, or without room in the budget of `charge`.
Status write_answer(const runtime::Reply& reply, const terms::Signature& signature,
                    bool wants_detail, const service::PlacedTensors& placed,
                    std::int64_t limit_bytes, ByteCharge& charge, v1::InferResponse& to);

}  // namespace sluice::rpc::server
