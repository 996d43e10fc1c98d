#include "rpc/client/infer_client.h"

#include "rpc/wire/convert.h"

namespace sluice::rpc::client {

Status write_infer(std::uint64_t model, const std::vector<terms::NamedTensor>& inputs,
                   const InferOptions& options, const SharedTable& shared,
                   const terms::Signature* signature, v1::InferRequest& to) {
  to.set_model(model);
  to.set_priority(options.priority);
  to.set_wants_detail(options.wants_detail);
  for (const std::string& name : options.kept_outputs) to.add_kept_outputs(name);
  to.set_ttl_ns(options.ttl_ns);
  to.set_traceparent(options.traceparent);
  to.set_tracestate(options.tracestate);
  for (const terms::NamedTensor& input : inputs) {
    if (input.exchange != 0) {
      v1::Tensor& tensor = *to.add_inputs();
      tensor.set_name(input.name);
      tensor.set_exchange(input.exchange);
      continue;
    }
    const auto place = shared.find(input.view.data, input.view.size_bytes);
    terms::TensorView view = input.view;
    // The bytes of a shared tensor travel in no message: its place stands for them.
    if (place) view.size_bytes = 0;
    wire::to_proto(view, input.name, *to.add_inputs());
    if (place) wire::to_proto(*place, *to.mutable_inputs()->rbegin()->mutable_place());
  }
  for (std::size_t i = 0; i < options.outputs.size(); ++i) {
    const terms::OutputMemory& memory = options.outputs[i];
    // Null: the answer carries this output.
    if (memory.data == nullptr) continue;
    const auto place = shared.find(memory.data, memory.capacity_bytes);
    if (!place || signature == nullptr || i >= signature->outputs.size()) {
      return invalid_argument(
          "output {}: expected memory of Client::share at a multiple of 64 bytes", i);
    }
    v1::OutputPlace& output = *to.add_output_places();
    output.set_name(signature->outputs[i].name);
    wire::to_proto(*place, *output.mutable_place());
  }
  return ok_status();
}

Result<InferReply> read_infer(std::shared_ptr<const v1::InferResponse> response,
                              const InferOptions& options) {
  InferReply reply;
  reply.code = static_cast<RuntimeCode>(response->runtime_code());
  for (const v1::Tensor& output : response->outputs()) {
    const std::size_t index = reply.outputs.size();
    terms::TensorView view = SLUICE_TRY(wire::view_of(output));
    if (output.has_place()) {
      // The daemon is another process: a place that was not offered would become a pointer of this
      // one.
      if (index >= options.outputs.size() ||
          view.size_bytes > options.outputs[index].capacity_bytes) {
        return internal_error(
            "the daemon wrote output \"{}\" to memory that the request did not name",
            output.name());
      }
      view.data = options.outputs[index].data;
    }
    reply.outputs.push_back({output.name(), std::move(view), output.exchange()});
  }
  reply.detail = wire::from_proto(response->detail());
  // The views of outputs point into the message.
  reply.owner = std::move(response);
  return reply;
}

}  // namespace sluice::rpc::client
