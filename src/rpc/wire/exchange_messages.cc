#include "rpc/wire/exchange_messages.h"

#include "rpc/wire/convert.h"

namespace sluice::rpc::wire {

v1::BringTensorRequest bring_request(std::uint64_t exchange, terms::DeviceId device) {
  v1::BringTensorRequest request;
  request.set_exchange(exchange);
  request.set_device(device.value());
  return request;
}

std::optional<terms::DeviceId> brought_from(const v1::BringTensorResponse& response) {
  if (!response.has_from()) return std::nullopt;
  return terms::DeviceId(response.from());
}

v1::PullTensorRequest pull_request(const terms::OfferedTensor& wanted, std::int64_t ttl_ns) {
  v1::PullTensorRequest request;
  request.set_from(wanted.address);
  request.set_exchange(wanted.exchange);
  request.set_key(wanted.key);
  request.set_ttl_ns(ttl_ns);
  return request;
}

Result<terms::PulledTensor> pulled_tensor(v1::PullTensorResponse response) {
  // With an index view_of() expects no bytes: the tensor stays in the daemon.
  response.mutable_tensor()->set_exchange(response.exchange());
  return terms::PulledTensor{terms::TensorIndex{response.exchange()},
                             SLUICE_TRY(view_of(response.tensor()))};
}

}  // namespace sluice::rpc::wire
