#include "rpc/server/calls/infer_stream_call.h"

namespace sluice::rpc::server {

std::int64_t least_answer_bytes(const terms::Signature& signature) {
  std::int64_t total = 0;
  for (const terms::TensorSpec& spec : signature.outputs) {
    total += ir::storage_bytes(spec.type).value_or(0);
  }
  return total;
}

}  // namespace sluice::rpc::server
