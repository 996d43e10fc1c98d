// Tensors by name or position, in the order of a signature.
#pragma once

#include "api/runtime/runtime.h"

namespace sluice::api {

/// A request of the engine, without deadline and on_done.
/// Fails: kBadInput; the message names the missing, unknown or repeated tensor.
Result<runtime::Request> arrange(const InferCall& call, const package::Signature& signature);

/// An index for every output of a signature: its place in `outputs`, or -1.
/// Fails: kBadInput as `arrange`.
Result<std::vector<int>> arrange_outputs(const std::vector<InferCall::Output>& outputs,
                                         const package::Signature& signature);

/// An index for every input of a signature: its place in `inputs`; -1 stands for the default of an
/// input that the call leaves out. Fails: kBadInput as `arrange`.
Result<std::vector<int>> arrange_inputs(const std::vector<InferCall::Input>& inputs,
                                        const package::Signature& signature);

/// The engine's reply with names.
InferReply name_outputs(runtime::Reply reply, const package::Signature& signature, bool has_detail);

}  // namespace sluice::api
