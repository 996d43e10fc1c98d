// The model behind a server of the Open Inference Protocol that a command puts load on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/attribute.h"
#include "perf/clients/served_model.h"
#include "sluice/cli/options.h"

namespace sluice::tool {

/// A target whose first request this owns.
struct LoadedTarget {
  std::vector<ir::Constant> inputs;
  std::unique_ptr<perf::Target> target;  ///< reads `inputs`
};

/// Where the model is, and the inputs of its requests.
struct PerfTarget {
  perf::ServedModel model;
  std::string grpc = "localhost:8001";
  std::string http;
  std::vector<std::string> inputs;
  std::vector<std::string> shapes;

  /// --grpc and --http, which the caller may combine with others; then the rest.
  Option add_grpc_to(Options& options);
  Option add_http_to(Options& options, const Option& grpc_option);
  void add_inputs_to(Options& options);

  /// Fails: as perf::connect_grpc.
  Result<std::unique_ptr<perf::Target>> connect(std::int64_t timeout_ns) const;
  /// The generated or given inputs as the target's next request. `rows`: the leading dimension of
  /// generated ones that have a free one; 0: as --shape says. Ownership: the target reads the
  /// result. Fails: as parse_inputs and read_inputs.
  Result<std::vector<ir::Constant>> add_request(perf::Target& target, std::int64_t rows = 0) const;
  /// Both.
  Result<LoadedTarget> load(std::int64_t timeout_ns, std::int64_t rows) const;
};

}  // namespace sluice::tool
