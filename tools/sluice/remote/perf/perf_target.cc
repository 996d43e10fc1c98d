#include "sluice/remote/perf/perf_target.h"

#include <utility>

#include "sluice/model/model_source.h"
#include "sluice/tensors/inputs.h"

namespace sluice::tool {

Option PerfTarget::add_grpc_to(Options& options) {
  return options.add("--grpc", grpc, "Address of the server's gRPC").shows_default();
}

Option PerfTarget::add_http_to(Options& options, const Option& grpc_option) {
  return options.add("--http", http, "The same of its HTTP, instead; https:// for TLS")
      .excludes(grpc_option);
}

void PerfTarget::add_inputs_to(Options& options) {
  options.add("--input", inputs, "As for `sluice run`; other inputs are random (repeatable)")
      .repeatable();
  options.add("--shape", shapes, "Dimensions of a generated input: name=1,3,224,224").repeatable();
}

Result<std::unique_ptr<perf::Target>> PerfTarget::connect(std::int64_t timeout_ns) const {
  perf::ServedModel served = model;
  served.timeout_ns = timeout_ns;
  served.server.address = http.empty() ? grpc : http;
  return http.empty() ? perf::connect_grpc(served) : perf::connect_http(served);
}

Result<std::vector<ir::Constant>> PerfTarget::add_request(perf::Target& target,
                                                          std::int64_t rows) const {
  const terms::Signature& signature = target.signature();
  const auto sources = SLUICE_TRY(parse_inputs(inputs, signature, Missing::kRandom));
  auto dims = SLUICE_TRY(parse_shapes(shapes));
  for (const terms::TensorSpec& input : signature.inputs) {
    const ir::Shape* shape = input.type.is_tensor() ? input.type.shape() : nullptr;
    const bool has_rows = shape != nullptr && !shape->empty() && !shape->front().is_known();
    if (rows == 0 || !has_rows) continue;
    std::vector<std::int64_t>& own = dims[input.name];
    if (own.empty()) {
      for (const ir::Dim& dim : *shape) own.push_back(dim.is_known() ? dim.value() : 1);
    }
    own.front() = rows;
  }
  auto constants = SLUICE_TRY(read_inputs(sources, signature, dims));
  std::vector<terms::NamedTensor> tensors;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    tensors.push_back({signature.inputs[i].name, view_of(constants[i])});
  }
  SLUICE_TRY(target.add_request(tensors));
  return constants;
}

Result<LoadedTarget> PerfTarget::load(std::int64_t timeout_ns, std::int64_t rows) const {
  LoadedTarget loaded;
  loaded.target = SLUICE_TRY(connect(timeout_ns));
  loaded.inputs = SLUICE_TRY(add_request(*loaded.target, rows));
  return loaded;
}

}  // namespace sluice::tool
