// The functions of sluice/request.h for tensors that stay in a daemon.
#include <utility>

#include "api/functions/open_runtimes.h"
#include "api/functions/reply.h"
#include "api/functions/snapshots.h"
#include "api/tensors.h"

namespace sluice::api {
namespace {

struct OfferPart {
  std::string key;
  sluice_tensor_offer public_part = {};
};

Result<FetchSettings> fetch_settings(const sluice_fetch_options* given) {
  const sluice_fetch_options options = read_options(given);
  if (options.from == nullptr || options.key == nullptr || options.exchange == 0) {
    return invalid_argument("a fetch needs from, exchange and key");
  }
  if (options.timeout_ns < 0) {
    return invalid_argument("timeout_ns {} must not be negative", options.timeout_ns);
  }
  return FetchSettings{options.from, options.exchange, options.key, options.ttl_ns,
                       options.timeout_ns};
}

}  // namespace
}  // namespace sluice::api

using sluice::ok_status;
using sluice::Status;
using sluice::api::Call;
using sluice::api::null_result;
using sluice::api::with_result_blocking;
using sluice::api::with_runtime_blocking;

int32_t sluice_runtime_put_tensor(sluice_runtime* runtime, const sluice_array* array,
                                  int64_t ttl_ns, uint64_t* exchange) {
  return with_runtime_blocking(runtime, [&](Call& call) -> Status {
    if (array == nullptr || exchange == nullptr) return null_result();
    *exchange = 0;
    if (array->data == nullptr && array->size_bytes > 0) {
      return sluice::invalid_argument("the array has {} bytes and no data", array->size_bytes);
    }
    const auto view = SLUICE_TRY(sluice::api::view_of(*array));
    *exchange = SLUICE_TRY(call->put_tensor(view, ttl_ns));
    return ok_status();
  });
}

int32_t sluice_runtime_get_tensor(sluice_runtime* runtime, uint64_t exchange,
                                  sluice_reply** reply) {
  return with_result_blocking(runtime, reply, [&](Call& call) -> Status {
    return sluice::api::give(call->get_tensor(exchange), reply);
  });
}

int32_t sluice_runtime_remove_tensor(sluice_runtime* runtime, uint64_t exchange) {
  return with_runtime_blocking(runtime, [&](Call& call) { return call->remove_tensor(exchange); });
}

int32_t sluice_runtime_bring_tensor(sluice_runtime* runtime, uint64_t exchange, int32_t device,
                                    int32_t* from) {
  return with_runtime_blocking(runtime, [&](Call& call) -> Status {
    if (from == nullptr) return null_result();
    const auto source = SLUICE_TRY(call->bring_tensor(exchange, sluice::terms::DeviceId(device)));
    *from = source ? source->value() : SLUICE_TENSOR_OF_HOST;
    return ok_status();
  });
}

int32_t sluice_runtime_offer_tensor(sluice_runtime* runtime, uint64_t exchange,
                                    const sluice_tensor_offer** offer) {
  return with_result_blocking(runtime, offer, [&](Call& call) -> Status {
    auto made = std::make_shared<sluice::api::OfferPart>();
    made->key = SLUICE_TRY(call->offer_tensor(exchange));
    made->public_part = {exchange, made->key.c_str()};
    sluice::api::give_snapshot(std::move(made), offer);
    return ok_status();
  });
}

int32_t sluice_runtime_fetch_tensor(sluice_runtime* runtime, const sluice_fetch_options* options,
                                    uint64_t* exchange) {
  return with_result_blocking(runtime, exchange, [&](Call& call) -> Status {
    *exchange = SLUICE_TRY(call->fetch_tensor(SLUICE_TRY(sluice::api::fetch_settings(options))));
    return ok_status();
  });
}
