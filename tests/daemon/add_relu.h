// The small model that the daemon's tests load, and a request for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/client/client.h"
#include "support/paths.h"

namespace sluice::testing {

/// y = relu(x + [1, -2, 3, -4]) in segments that want `cores`, as a package for `backend`: the path
/// of NAME.sluice in `folder`.
std::string write_model(const TempDir& folder, const std::string& name,
                        std::vector<std::int32_t> cores, std::string_view backend = "sim");

/// y for x = [value, ...].
Result<std::vector<float>> infer(rpc::client::Client& client, std::uint64_t model, float value);

}  // namespace sluice::testing
