#include "device/transfer/transfer.h"

#include <array>

namespace sluice::device {
namespace {

constexpr std::array kPolicies = {TransferPolicy::kWeighted, TransferPolicy::kRoundRobin,
                                  TransferPolicy::kDeadline, TransferPolicy::kStrict};

}  // namespace

std::string_view policy_name(TransferPolicy policy) {
  switch (policy) {
    case TransferPolicy::kWeighted: return "weighted";
    case TransferPolicy::kRoundRobin: return "round-robin";
    case TransferPolicy::kDeadline: return "deadline";
    case TransferPolicy::kStrict: break;
  }
  return "strict";
}

std::optional<TransferPolicy> find_policy(std::string_view name) {
  for (const TransferPolicy policy : kPolicies) {
    if (policy_name(policy) == name) return policy;
  }
  return std::nullopt;
}

Status check(const TransferOptions& options) {
  if (options.block_bytes < 1) {
    return invalid_argument("transfers: a block of {} bytes; it takes at least 1",
                            options.block_bytes);
  }
  if (options.blocks_in_flight >= 1 && options.blocks_in_flight <= kMaxBlocksInFlight) {
    return ok_status();
  }
  return invalid_argument("transfers: {} blocks in flight; it takes 1 to {}",
                          options.blocks_in_flight, kMaxBlocksInFlight);
}

}  // namespace sluice::device
