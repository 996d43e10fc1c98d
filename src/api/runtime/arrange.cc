#include "api/runtime/arrange.h"

#include <utility>

namespace sluice::api {
Result<runtime::Request> arrange(const InferCall& call, const terms::Signature& signature) {
  runtime::Request request;
  for (const int place : SLUICE_TRY(terms::arrange_inputs(call.inputs, signature))) {
    // Inputs come in the signature's order: the next one's place is the number of those before it.
    const terms::TensorSpec& spec = signature.inputs[request.inputs.size()];
    request.inputs.push_back(place < 0 ? terms::default_of(spec).value_or(terms::TensorView())
                                       : call.inputs[static_cast<std::size_t>(place)].view);
  }
  if (!call.outputs.empty()) {
    for (const int place : SLUICE_TRY(terms::arrange_outputs(call.outputs, signature))) {
      request.outputs.push_back(place < 0 ? terms::OutputMemory()
                                          : call.outputs[static_cast<std::size_t>(place)].memory);
    }
  }
  request.priority = call.priority;
  request.wants_detail = call.wants_detail;
  return request;
}

InferReply name_outputs(runtime::Reply reply, const terms::Signature& signature, bool has_detail) {
  InferReply named;
  named.has_detail = has_detail;
  named.code = reply.code;
  if (reply.outputs.empty() && reply.code != RuntimeCode::kOk)
    named.status = reply.errors.to_status();
  // One owner for all outputs: the caller gives them back together.
  auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  for (std::size_t i = 0; i < reply.outputs.size(); ++i) {
    named.outputs.push_back({signature.outputs[i].name, std::move(reply.outputs[i].view)});
    owners->push_back(std::move(reply.outputs[i].owner));
  }
  named.detail = std::move(reply.detail);
  named.owner = std::move(owners);
  return named;
}

}  // namespace sluice::api
