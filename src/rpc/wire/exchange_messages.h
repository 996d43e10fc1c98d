// Messages about tensors of the exchange.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "proto/sluice/v1/exchange.pb.h"
#include "terms/device.h"
#include "terms/tensors/exchange.h"

namespace sluice::rpc::wire {

v1::BringTensorRequest bring_request(std::uint64_t exchange, terms::DeviceId device);
/// The device that the copy came from; none: the host.
std::optional<terms::DeviceId> brought_from(const v1::BringTensorResponse& response);

v1::PullTensorRequest pull_request(const terms::OfferedTensor& wanted, std::int64_t ttl_ns);
/// Fails: as view_of.
Result<terms::PulledTensor> pulled_tensor(v1::PullTensorResponse response);

}  // namespace sluice::rpc::wire
