#include "emulator/ptx/decode/special_registers.h"

namespace sluice::cuda::ptx {
namespace {

constexpr SpecialRegister kSpecial[] = {
    {"%tid.x", Initial::kTidX},
    {"%tid.y", Initial::kTidY},
    {"%tid.z", Initial::kTidZ},
    {"%ntid.x", Initial::kNtidX},
    {"%ntid.y", Initial::kNtidY},
    {"%ntid.z", Initial::kNtidZ},
    {"%ctaid.x", Initial::kCtaidX},
    {"%ctaid.y", Initial::kCtaidY},
    {"%ctaid.z", Initial::kCtaidZ},
    {"%nctaid.x", Initial::kNctaidX},
    {"%nctaid.y", Initial::kNctaidY},
    {"%nctaid.z", Initial::kNctaidZ},
    {"%laneid", Initial::kLaneId},
    {"%warpid", Initial::kWarpId},
    {"%nwarpid", Initial::kNwarpId},
    {"%smid", Initial::kSmId},
    {"%nsmid", Initial::kNsmId},
    {"%gridid", Initial::kGridId},
    {"%lanemask_eq", Initial::kLanemaskEq},
    {"%lanemask_lt", Initial::kLanemaskLt},
    {"%lanemask_le", Initial::kLanemaskLe},
    {"%lanemask_gt", Initial::kLanemaskGt},
    {"%lanemask_ge", Initial::kLanemaskGe},
    {"%dynamic_smem_size", Initial::kDynamicSharedSize},
    {"%total_smem_size", Initial::kTotalSharedSize},
};

}  // namespace

const SpecialRegister* find_special(std::string_view name) {
  if (name.empty() || name.front() != '%') return nullptr;
  for (const SpecialRegister& special : kSpecial) {
    if (special.name == name) return &special;
  }
  return nullptr;
}

}  // namespace sluice::cuda::ptx
