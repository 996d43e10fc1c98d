// A model behind the Open Inference Protocol, as its clients here see it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "perf/target.h"
#include "rpc/client/client.h"
#include "terms/tensors/signature.h"

namespace sluice::perf {

struct ServedModel {
  rpc::client::ClientOptions server;  ///< address, TLS, token
  std::string name;
  std::string version;                       ///< empty: the server's choice
  std::int64_t timeout_ns = 60'000'000'000;  ///< of a request
};

/// Each asks the server for the model's inputs and outputs.
/// Fails: kUnavailable without a server; with the server's error.
Result<std::unique_ptr<Target>> connect_grpc(const ServedModel& model);
/// HTTP/1.1; a connection for each request in flight. Tensors travel in binary behind the JSON. An
/// address may begin with "http://" or "https://"; TLS without `ca` trusts the system's
/// authorities. Fails also: as tls::read_client.
Result<std::unique_ptr<Target>> connect_http(const ServedModel& model);

/// A tensor as metadata of the protocol has it. A size of -1 becomes a symbol.
/// Fails: kInvalidArgument for a datatype that the protocol does not have.
Result<terms::TensorSpec> spec_of(std::string_view name, std::string_view datatype,
                                  std::span<const std::int64_t> shape);

/// An input as it travels: row-major, little-endian.
struct WireTensor {
  std::string name;
  std::string datatype;
  std::vector<std::int64_t> shape;
  std::string bytes;  ///< strings as open_inference/texts.h says
};

/// Fails: kUnimplemented for a type that the protocol lacks.
Result<std::vector<WireTensor>> to_wire(const std::vector<terms::NamedTensor>& tensors);

}  // namespace sluice::perf
