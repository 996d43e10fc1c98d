#include "rpc/placed_request.h"

#include <algorithm>

#include "rpc/convert.h"
#include "rpc/error.h"

namespace sluice::rpc {
namespace {

/// By signature index, as far as there are any.
Result<std::vector<service::PlacedOutput>> open_outputs(const v1::InferRequest& wanted,
                                                        const package::Signature& signature,
                                                        const service::Session& session) {
  std::vector<service::PlacedOutput> outputs;
  if (wanted.output_places().empty()) return outputs;
  outputs.resize(signature.outputs.size());
  for (const v1::OutputPlace& from : wanted.output_places()) {
    const auto it = std::ranges::find(signature.outputs, from.name(), &package::TensorSpec::name);
    if (it == signature.outputs.end()) {
      return runtime_error(runtime::RuntimeCode::kBadInput, "the model has no output \"{}\"",
                           from.name().substr(0, 200));
    }
    outputs[static_cast<std::size_t>(it - signature.outputs.begin())] =
        SLUICE_TRY(service::open_output(session, from_proto(from.place())).with_context(it->name));
  }
  return outputs;
}

Status put_in_place(const service::PlacedOutput& placed, const exec::TensorView& view,
                    const std::string& name, v1::Tensor& to) {
  SLUICE_TRY(service::store(placed, view, name));
  exec::TensorView without_bytes = view;
  without_bytes.size_bytes = 0;
  to_proto(without_bytes, name, to);
  service::Place place = placed.place;
  place.size_bytes = static_cast<std::uint64_t>(view.size_bytes);
  to_proto(place, *to.mutable_place());
  return ok_status();
}

}  // namespace

Result<std::vector<exec::TensorView>> open_request(service::Service& service,
                                                   const service::Caller& caller,
                                                   const v1::InferRequest& wanted,
                                                   const package::Signature& signature,
                                                   PlacedTensors& placed) {
  const auto in_place = service.in_place_inputs(runtime::ModelHandle(wanted.model()));
  const auto open = [&](std::size_t i, const service::Place& place) -> Result<void*> {
    const bool stays = in_place != nullptr && i < in_place->size() && (*in_place)[i];
    auto input = SLUICE_TRY(service::open_input(*caller.session, place, stays));
    placed.owners.push_back(std::move(input.owner));
    return input.data;
  };
  auto inputs = SLUICE_TRY(inputs_of(wanted, signature, open));
  placed.outputs = SLUICE_TRY(open_outputs(wanted, signature, *caller.session));
  return inputs;
}

Status write_answer(const runtime::Reply& reply, const package::Signature& signature,
                    bool wants_detail, const PlacedTensors& placed, v1::InferResponse& to) {
  to.set_runtime_code(static_cast<std::int32_t>(reply.code));
  for (std::size_t i = 0; i < reply.outputs.size(); ++i) {
    const exec::TensorView& view = reply.outputs[i].view;
    const std::string& name = signature.outputs[i].name;
    if (i < placed.outputs.size() && placed.outputs[i].region != nullptr) {
      SLUICE_TRY(put_in_place(placed.outputs[i], view, name, *to.add_outputs()));
    } else {
      to_proto(view, name, *to.add_outputs());
    }
  }
  if (wants_detail) to_proto(reply.detail, *to.mutable_detail());
  return ok_status();
}

}  // namespace sluice::rpc
