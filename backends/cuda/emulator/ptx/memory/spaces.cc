#include "emulator/ptx/memory/spaces.h"

#include <algorithm>

#include "emulator/ptx/memory/traffic.h"

namespace sluice::cuda::ptx {
namespace {

constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 56;

const char* name_of(Space space) {
  switch (space) {
    case Space::kShared: return "shared";
    case Space::kLocal: return "local";
    case Space::kParameter: return "parameter";
    default: return "device";
  }
}

std::string hexadecimal(std::uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (; value != 0 || text.empty(); value >>= 4) text.insert(text.begin(), kDigits[value & 15]);
  return "0x" + text;
}

Space window_of(std::uint64_t address) {
  switch (address / kWindowBytes) {
    case 0: return Space::kGlobal;
    case kSharedWindow / kWindowBytes: return Space::kShared;
    case kLocalWindow / kWindowBytes: return Space::kLocal;
    case kParameterWindow / kWindowBytes: return Space::kParameter;
    default: return Space::kGlobal;
  }
}

std::byte* refuse(Warp& warp, sluice_code code, Space space, int lane, std::uint64_t address,
                  std::uint32_t bytes, const std::string& why) {
  warp.fail(code, lane,
            std::string(name_of(space)) + " address " + hexadecimal(address) + ", " +
                std::to_string(bytes) + " bytes: " + why);
  return nullptr;
}

std::byte* outside(Warp& warp, Space space, int lane, std::uint64_t address, std::uint32_t bytes,
                   const std::string& why) {
  return refuse(warp, SLUICE_OUT_OF_RANGE, space, lane, address, bytes, why);
}

/// The host address in memory that begins at `begin` and has `size` bytes.
std::byte* within(Warp& warp, Space space, int lane, std::uint64_t address, std::uint32_t bytes,
                  std::byte* begin, std::size_t size) {
  if (address <= size && bytes <= size - address) return begin + address;
  return outside(warp, space, lane, address, bytes,
                 "the space has " + std::to_string(size) + " bytes");
}

std::byte* reach_local(Warp& warp, int lane, std::uint64_t address, std::uint32_t bytes) {
  Block& block = *warp.block;
  const std::size_t size = block.program->local_bytes;
  std::byte* begin =
      block.local.data() + (warp.index * kLanes + static_cast<std::size_t>(lane)) * size;
  return within(warp, Space::kLocal, lane, address, bytes, begin, size);
}

std::byte* reach_parameter(Warp& warp, int lane, std::uint64_t address, std::uint32_t bytes,
                           Access access) {
  const std::span<const std::byte> parameters = warp.block->launch->parameters;
  if (access != Access::kRead) {
    return outside(warp, Space::kParameter, lane, address, bytes,
                   "parameters of a kernel are not written");
  }
  auto* begin = const_cast<std::byte*>(parameters.data());  // read only, as was checked
  return within(warp, Space::kParameter, lane, address, bytes, begin, parameters.size());
}

std::byte* reach_global(Warp& warp, int lane, std::uint64_t address, std::uint32_t bytes,
                        Access access) {
  std::byte* host = warp.block->global->at(address, bytes, access);
  if (host != nullptr) return host;
  return outside(warp, Space::kGlobal, lane, address, bytes,
                 warp.block->global->describe(address, bytes));
}

}  // namespace

Addresses find_addresses(const Warp& warp, const Instruction& in, Space space, Place base) {
  Addresses addresses;
  const auto offset = static_cast<std::uint64_t>(in.offset);
  if ((base & 1) != 0) {
    const std::uint64_t* bases = warp.lanes<std::uint64_t>(base);
    for (int lane = 0; lane < kLanes; ++lane) addresses.of[lane] = bases[lane] + offset;
  } else {
    const std::uint32_t* bases = warp.lanes<std::uint32_t>(base);
    for (int lane = 0; lane < kLanes; ++lane) {
      addresses.of[lane] =
          static_cast<std::uint32_t>(bases[lane] + static_cast<std::uint32_t>(offset));
    }
  }
  addresses.space = space;
  if (space != Space::kGeneric) return addresses;
  // Lanes may differ: reach() then reads the windows one by one.
  const Space first = window_of(addresses.of[std::countr_zero(warp.mask)]);
  bool is_same = true;
  for_lanes(warp.mask, [&](int lane) { is_same &= window_of(addresses.of[lane]) == first; });
  if (!is_same) return addresses;
  addresses.space = first;
  if (first != Space::kGlobal) {
    for (std::uint64_t& address : addresses.of) address &= kWindowBytes - 1;
  }
  return addresses;
}

std::byte* reach(Warp& warp, const Addresses& addresses, int lane, std::uint32_t bytes,
                 Access access) {
  std::uint64_t address = addresses.of[lane];
  Space space = addresses.space;
  if (space == Space::kGeneric) {
    space = window_of(address);
    if (space != Space::kGlobal) address &= kWindowBytes - 1;
  }
  if (address % bytes != 0) {
    return refuse(warp, SLUICE_FAILED_PRECONDITION, space, lane, address, bytes,
                  "an address must be a multiple of the size of its access");
  }
  switch (space) {
    case Space::kShared:
      return within(warp, space, lane, address, bytes, warp.block->shared.data(),
                    warp.block->shared.size());
    case Space::kLocal: return reach_local(warp, lane, address, bytes);
    case Space::kParameter: return reach_parameter(warp, lane, address, bytes, access);
    default: return reach_global(warp, lane, address, bytes, access);
  }
}

namespace {

/// The lowest and highest address of the mask's lanes, and all their bits together.
struct Extent {
  std::uint64_t low = ~std::uint64_t{0}, high = 0, bits = 0;

  explicit Extent(std::uint32_t mask, const Addresses& addresses) {
    const auto add = [this](std::uint64_t address) {
      low = std::min(low, address);
      high = std::max(high, address);
      bits |= address;
    };
    if (mask == kAllLanes) {
      for (const std::uint64_t address : addresses.of) add(address);
    } else {
      for_lanes(mask, [&](int lane) { add(addresses.of[lane]); });
    }
  }
};

/// Where `low` lies, if all bytes up to `high` belong to one allocation; else null.
std::byte* reach_span(Warp& warp, const Addresses& addresses, const Extent& extent,
                      std::uint32_t bytes, Access access) {
  constexpr std::uint64_t kMaxSpan = std::uint64_t{1} << 32;
  if (extent.bits % bytes != 0 || extent.high - extent.low >= kMaxSpan) return nullptr;
  const std::uint64_t size = extent.high - extent.low + bytes;
  if (addresses.space == Space::kGlobal || addresses.space == Space::kConstant) {
    return warp.block->global->at(extent.low, size, access);
  }
  if (addresses.space != Space::kShared) return nullptr;
  std::vector<std::byte>& shared = warp.block->shared;
  return extent.high <= shared.size() && bytes <= shared.size() - extent.high
             ? shared.data() + extent.low
             : nullptr;
}

}  // namespace

bool reach_all(Warp& warp, const Addresses& addresses, std::uint32_t bytes, Access access,
               std::byte* host[kLanes]) {
  // A warp mostly accesses one allocation, or shared memory: one look instead of 32.
  const Extent extent(warp.mask, addresses);
  if (std::byte* begin = reach_span(warp, addresses, extent, bytes, access); begin != nullptr) {
    for (int lane = 0; lane < kLanes; ++lane) {
      // Lanes outside of the mask may have any address; nobody uses theirs.
      const std::uint64_t offset = addresses.of[lane] - extent.low;
      host[lane] = begin + (offset <= extent.high - extent.low ? offset : 0);
    }
    return true;
  }
  for_lanes(warp.mask, [&](int lane) {
    if (!warp.has_failed) host[lane] = reach(warp, addresses, lane, bytes, access);
  });
  return !warp.has_failed;
}

void count_access(Warp& warp, const Instruction& in, const Addresses& addresses,
                  std::uint32_t bytes, Access access) {
  Counts& counts = *warp.block->counts;
  if (addresses.space == Space::kGlobal) {
    const std::uint64_t moved =
        std::uint64_t{bytes} * static_cast<std::uint64_t>(std::popcount(warp.mask));
    const std::uint64_t sectors = count_sectors(warp.mask, addresses.of);
    (access == Access::kRead ? counts.global_load_bytes : counts.global_store_bytes) += moved;
    (access == Access::kRead ? counts.global_load_sectors : counts.global_store_sectors) += sectors;
    ++counts.global_accesses;
    // One sector more than the bytes fill is an address that begins within a sector.
    if (sectors > (moved + kSectorBytes - 1) / kSectorBytes + 1) ++counts.scattered_accesses;
  } else if (addresses.space == Space::kShared) {
    ++counts.shared_accesses;
    counts.shared_bank_conflicts += count_conflicts(warp.mask, addresses.of, bytes);
    Races& races = warp.block->races;
    if (races.is_enabled() && access == Access::kRead) {
      races.read(warp.index, in.line, warp.mask, addresses.of, bytes);
      check_races(warp, std::countr_zero(warp.mask));
    }
  }
}

void check_races(Warp& warp, int lane) {
  const std::string& found = warp.block->races.found();
  if (!found.empty()) warp.fail(SLUICE_FAILED_PRECONDITION, lane, found);
}

}  // namespace sluice::cuda::ptx
