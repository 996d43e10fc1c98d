#include "api/runtime/arrange.h"

#include <utility>

namespace sluice::api {
namespace {

using runtime::RuntimeCode;

std::string names_of(const std::vector<package::TensorSpec>& specs) {
  std::string names;
  for (const package::TensorSpec& spec : specs) {
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", spec.name);
  }
  return names.empty() ? "none" : names;
}

/// The place of every spec in `given`; -1 for a spec that is not given.
template <typename Named>
Result<std::vector<int>> match(const std::vector<Named>& given,
                               const std::vector<package::TensorSpec>& specs,
                               const package::Signature& signature) {
  const bool is_input = &specs == &signature.inputs;
  const std::string_view what = is_input ? "input" : "output";
  std::vector<int> places(specs.size(), -1);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string& name = given[i].name;
    std::size_t index = i;
    if (!name.empty()) {
      index = 0;
      while (index < specs.size() && specs[index].name != name) ++index;
    }
    if (index >= specs.size()) {
      const bool has_hint = is_input && !name.empty();
      return runtime::runtime_error(RuntimeCode::kBadInput, "the model has no {} {}; it has {}{}",
                                    what, name.empty() ? fmt::format("number {}", i) : name,
                                    names_of(specs),
                                    has_hint ? package::fixed_input_hint(signature, name) : "");
    }
    if (places[index] >= 0) {
      return runtime::runtime_error(RuntimeCode::kBadInput, "{} \"{}\" is given twice", what,
                                    specs[index].name);
    }
    places[index] = static_cast<int>(i);
  }
  return places;
}

}  // namespace

Result<std::vector<int>> arrange_outputs(const std::vector<InferCall::Output>& outputs,
                                         const package::Signature& signature) {
  return match(outputs, signature.outputs, signature);
}

Result<std::vector<int>> arrange_inputs(const std::vector<InferCall::Input>& inputs,
                                        const package::Signature& signature) {
  auto places = SLUICE_TRY(match(inputs, signature.inputs, signature));
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] >= 0 || signature.inputs[i].has_default) continue;
    return runtime::runtime_error(RuntimeCode::kBadInput, "input \"{}\" is missing: {}",
                                  signature.inputs[i].name, signature.inputs[i].type.to_string());
  }
  return places;
}

Result<runtime::Request> arrange(const InferCall& call, const package::Signature& signature) {
  runtime::Request request;
  for (const int place : SLUICE_TRY(arrange_inputs(call.inputs, signature))) {
    const package::TensorSpec& spec = signature.inputs[request.inputs.size()];
    request.inputs.push_back(place < 0 ? exec::default_of(spec).value_or(exec::TensorView())
                                       : call.inputs[static_cast<std::size_t>(place)].view);
  }
  if (!call.outputs.empty()) {
    for (const int place : SLUICE_TRY(arrange_outputs(call.outputs, signature))) {
      request.outputs.push_back(place < 0 ? runtime::OutputMemory()
                                          : call.outputs[static_cast<std::size_t>(place)].memory);
    }
  }
  request.priority = call.priority;
  request.wants_detail = call.wants_detail;
  return request;
}

InferReply name_outputs(runtime::Reply reply, const package::Signature& signature,
                        bool has_detail) {
  InferReply named;
  named.has_detail = has_detail;
  named.code = reply.code;
  if (reply.outputs.empty() && reply.code != RuntimeCode::kOk)
    named.status = reply.errors.to_status();
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
