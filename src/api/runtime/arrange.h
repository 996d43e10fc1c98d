// Tensors by name or position, in the order of a signature.
#pragma once

#include "api/runtime/runtime.h"
#include "runtime/request/request.h"

namespace sluice::api {

/// A request of the engine, without deadline and on_done.
/// Fails: kBadInput; the message names the missing, unknown or repeated tensor.
Result<runtime::Request> arrange(const InferCall& call, const terms::Signature& signature);

/// The engine's reply with names.
InferReply name_outputs(runtime::Reply reply, const terms::Signature& signature, bool has_detail);

}  // namespace sluice::api
