#include "rpc/server/calls/placed_request.h"

#include <algorithm>

#include "base/no_memory.h"
#include "rpc/wire/convert.h"
#include "rpc/wire/error.h"

namespace sluice::rpc::server {
namespace {

Result<std::size_t> output_index(const terms::Signature& signature, const std::string& name) {
  const auto it = std::ranges::find(signature.outputs, name, &terms::TensorSpec::name);
  if (it != signature.outputs.end()) {
    return static_cast<std::size_t>(it - signature.outputs.begin());
  }
  return terms::runtime_error(RuntimeCode::kBadInput, "the model has no output \"{}\"",
                              // The name is a client's and may be as long as a message.
                              name.substr(0, 200));
}

Result<sandbox::KeptOutputs> kept_outputs(service::Service& service,
                                          const service::ClientSession& session,
                                          const v1::InferRequest& wanted,
                                          const terms::Signature& signature) {
  sandbox::KeptOutputs kept;
  if (wanted.kept_outputs().empty()) return kept;
  kept.exchange = &service.exchange();
  kept.owner = session.owner();
  kept.ttl_ns = wanted.ttl_ns();
  kept.is_kept.resize(signature.outputs.size());
  std::int64_t known_bytes = 0;
  for (const std::string& name : wanted.kept_outputs()) {
    const std::size_t output = SLUICE_TRY(output_index(signature, name));
    kept.is_kept[output] = true;
    known_bytes += ir::storage_bytes(signature.outputs[output].type).value_or(0);
  }
  // A full exchange refuses the request before the run. Others may fill it meanwhile.
  (void)SLUICE_TRY(kept.exchange->reserve(kept.owner, known_bytes));
  return kept;
}

/// The message has the type and the shape; the bytes stay where they are.
Status keep(const sandbox::KeptOutputs& kept, const terms::OutputTensor& tensor,
            const std::string& name, v1::Tensor& to) {
  const auto index =
      SLUICE_TRY(kept.exchange->put(kept.owner, tensor, kept.ttl_ns).with_context(name));
  terms::TensorView without_bytes = tensor.view;
  without_bytes.size_bytes = 0;
  wire::to_proto(without_bytes, name, to);
  to.set_exchange(static_cast<std::uint64_t>(index));
  return ok_status();
}

/// By signature index. Empty if the request places no outputs.
Result<std::vector<service::PlacedOutput>> open_outputs(const v1::InferRequest& wanted,
                                                        const terms::Signature& signature,
                                                        const service::ClientSession& session) {
  std::vector<service::PlacedOutput> outputs;
  if (wanted.output_places().empty()) return outputs;
  outputs.resize(signature.outputs.size());
  for (const v1::OutputPlace& from : wanted.output_places()) {
    const std::size_t index = SLUICE_TRY(output_index(signature, from.name()));
    outputs[index] = SLUICE_TRY(service::open_output(session, wire::from_proto(from.place()))
                                    .with_context(signature.outputs[index].name));
  }
  return outputs;
}

Status put_in_place(const service::PlacedOutput& placed, const terms::TensorView& view,
                    const std::string& name, v1::Tensor& to) {
  SLUICE_TRY(service::store(placed, view, name));
  terms::TensorView without_bytes = view;
  without_bytes.size_bytes = 0;
  wire::to_proto(without_bytes, name, to);
  terms::RegionSlice place = placed.place;
  place.size_bytes = static_cast<std::uint64_t>(view.size_bytes);
  wire::to_proto(place, *to.mutable_place());
  return ok_status();
}

bool is_placed(const service::PlacedTensors& placed, std::size_t output) {
  return output < placed.outputs.size() && placed.outputs[output].region != nullptr;
}

/// Bytes of the message. Every output has a name, a type and dimensions beside its bytes.
std::int64_t answer_bytes(const runtime::Reply& reply, const service::PlacedTensors& placed) {
  // Above what a name of at most 256 bytes, a type and dimensions take.
  constexpr std::int64_t kBytesBeside = 1024;
  std::int64_t total = kBytesBeside;
  for (std::size_t i = 0; i < reply.outputs.size(); ++i) {
    const bool is_elsewhere = placed.kept.keeps(i) || is_placed(placed, i);
    total += kBytesBeside + (is_elsewhere ? 0 : reply.outputs[i].view.size_bytes);
  }
  return total;
}

Status write_outputs(const runtime::Reply& reply, const terms::Signature& signature,
                     bool wants_detail, const service::PlacedTensors& placed,
                     v1::InferResponse& to) {
  to.set_runtime_code(static_cast<std::int32_t>(reply.code));
  for (std::size_t i = 0; i < reply.outputs.size(); ++i) {
    const terms::TensorView& view = reply.outputs[i].view;
    const std::string& name = signature.outputs[i].name;
    if (placed.kept.keeps(i)) {
      SLUICE_TRY(keep(placed.kept, reply.outputs[i], name, *to.add_outputs()));
    } else if (is_placed(placed, i)) {
      SLUICE_TRY(put_in_place(placed.outputs[i], view, name, *to.add_outputs()));
    } else {
      wire::to_proto(view, name, *to.add_outputs());
    }
  }
  if (wants_detail) wire::to_proto(reply.detail, *to.mutable_detail());
  return ok_status();
}

/// Forgets the outputs of an answer that fails: the client never learns their indices.
void forget_kept(const sandbox::KeptOutputs& kept, const v1::InferResponse& answer) {
  for (const v1::Tensor& tensor : answer.outputs()) {
    if (tensor.exchange() == 0) continue;
    // The tensor may be gone: its time may be over.
    (void)kept.exchange->remove(kept.owner, terms::TensorIndex{tensor.exchange()});
  }
}

}  // namespace

Status open_request(service::Service& service, const service::ClientSession& session,
                    const v1::InferRequest& wanted, const dispatch::ModelRef& model,
                    service::PlacedTensors& placed, runtime::Request& request) {
  const bool uses_exchange =
      !wanted.kept_outputs().empty() ||
      std::ranges::any_of(wanted.inputs(), [](const auto& one) { return one.exchange() != 0; });
  const void* device = uses_exchange ? model.sink().left_on() : nullptr;
  std::vector<sandbox::ExchangeTable::Lease> left;  // on the model's device, or a copy there
  const auto open = [&](std::size_t i, const terms::RegionSlice& place) -> Result<void*> {
    auto input = SLUICE_TRY(service::open_input(session, place, model.reads_in_place(i)));
    // The region stays mapped until the answer, even if the client unregisters it.
    placed.owners.push_back(std::move(input.owner));
    return input.data;
  };
  const auto find = [&](std::uint64_t index) -> Result<terms::TensorView> {
    auto lease = SLUICE_TRY(service.exchange().find(session.owner(), terms::TensorIndex{index}));
    if (lease->left != nullptr && device == lease->left->device) {
      left.push_back(lease);
    } else if (lease->left != nullptr) {
      auto copy = device == nullptr ? nullptr : service.bring_by_link(*lease, device);
      if (copy != nullptr) {
        placed.owners.push_back(std::move(copy));
        left.push_back(lease);
      } else {
        SLUICE_TRY(lease->left->fetch());
      }
    }
    const terms::TensorView view = lease->view;  // read only, where it lies
    placed.owners.push_back(std::move(lease));
    return view;
  };
  request.inputs = SLUICE_TRY(wire::inputs_of(wanted, model.signature(), open, find));
  if (!left.empty()) request.left_inputs.resize(request.inputs.size());
  for (const auto& lease : left) {
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      if (request.inputs[i].data == lease->view.data) request.left_inputs[i] = lease->left;
    }
  }
  placed.kept = SLUICE_TRY(kept_outputs(service, session, wanted, model.signature()));
  placed.outputs = SLUICE_TRY(open_outputs(wanted, model.signature(), session));
  if (device != nullptr) request.left_outputs = placed.kept.is_kept;
  return ok_status();
}

Status write_answer(const runtime::Reply& reply, const terms::Signature& signature,
                    bool wants_detail, const service::PlacedTensors& placed,
                    std::int64_t limit_bytes, ByteCharge& charge, v1::InferResponse& to) {
  const std::int64_t size_bytes = answer_bytes(reply, placed);
  if (size_bytes > limit_bytes) {
    return terms::runtime_error(
        RuntimeCode::kOutOfResources,
        "the answer has {} bytes, a message at most {}; place the outputs in shared "
        "memory, or raise max_message_bytes",
        size_bytes, limit_bytes);
  }
  // Charged before the message is made: an answer beyond the budget costs no memory.
  SLUICE_TRY(charge.resize(size_bytes).with_context("answers wait to be read"));
  const Status status =
      catch_no_memory([&] { return write_outputs(reply, signature, wants_detail, placed, to); });
  if (!status.is_ok()) forget_kept(placed.kept, to);
  return status;
}

}  // namespace sluice::rpc::server
