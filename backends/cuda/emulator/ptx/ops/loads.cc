// ld and st: single registers and vectors, in every space.
#include "emulator/ptx/memory/spaces.h"
#include "emulator/ptx/ops/families.h"

namespace sluice::cuda::ptx {
namespace {

// Modifiers: the space, and whether loads repeat the sign above their bytes.
constexpr std::uint32_t kSpaceBits = 15, kSigned = 16, kOrdersMemory = 32;

Space space_of(const Instruction& in) { return static_cast<Space>(in.modifiers & kSpaceBits); }

std::uint64_t read_bytes(const std::byte* from, std::uint32_t bytes, bool is_signed_load) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, bytes);
  if (!is_signed_load || bytes == 8) return bits;
  const std::uint32_t unused = 64 - 8 * bytes;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused);
}

void load(Warp& warp, const Instruction& in) {
  const Addresses addresses = find_addresses(warp, in, space_of(in), in.in[0]);
  std::byte* host[kLanes];
  const std::uint32_t bytes = std::uint32_t{in.bytes} * in.count;
  if (!reach_all(warp, addresses, bytes, Access::kRead, host)) return;
  if ((in.modifiers & kOrdersMemory) != 0) warp.block->races.begin_epoch();
  count_access(warp, in, addresses, bytes, Access::kRead);
  const std::uint32_t* list = &warp.block->program->list[in.list];
  for (std::uint32_t i = 0; i < in.count; ++i) {
    const Place place = list[i];
    const std::uint32_t at = i * in.bytes;
    if (in.bytes == 4 && (place & 1) == 0) {  // most loads
      std::uint32_t* out = warp.lanes<std::uint32_t>(place);
      for_lanes(warp.mask, [&](int lane) { std::memcpy(&out[lane], host[lane] + at, 4); });
      continue;
    }
    const bool is_signed_load = (in.modifiers & kSigned) != 0;
    for_lanes(warp.mask, [&](int lane) {
      warp.write(place, lane, read_bytes(host[lane] + at, in.bytes, is_signed_load));
    });
  }
}

/// A kernel's parameter at a fixed place: the same for all lanes.
void load_parameter(Warp& warp, const Instruction& in) {
  const std::span<const std::byte> parameters = warp.block->launch->parameters;
  const std::uint32_t* list = &warp.block->program->list[in.list];
  for (std::uint32_t i = 0; i < in.count; ++i) {
    const auto at = static_cast<std::size_t>(in.offset) + std::size_t{i} * in.bytes;
    const std::uint64_t bits =
        read_bytes(parameters.data() + at, in.bytes, (in.modifiers & kSigned) != 0);
    for_lanes(warp.mask, [&](int lane) { warp.write(list[i], lane, bits); });
  }
}

void note_shared_writes(Warp& warp, const Instruction& in, const Addresses& addresses,
                        std::byte* const host[kLanes]) {
  Races& races = warp.block->races;
  const std::uint32_t bytes = std::uint32_t{in.bytes} * in.count;
  const std::uint32_t* list = &warp.block->program->list[in.list];
  for_lanes(warp.mask, [&](int lane) {
    bool is_unchanged = true;
    for (std::uint32_t i = 0; i < in.count; ++i) {
      const std::uint64_t bits = warp.read(list[i], lane);
      is_unchanged &= std::memcmp(&bits, host[lane] + i * in.bytes, in.bytes) == 0;
    }
    races.write(warp.index, in.line, addresses.of[lane], bytes, is_unchanged);
    check_races(warp, lane);
  });
}

void store(Warp& warp, const Instruction& in) {
  const Addresses addresses = find_addresses(warp, in, space_of(in), in.in[0]);
  std::byte* host[kLanes];
  const std::uint32_t bytes = std::uint32_t{in.bytes} * in.count;
  if (!reach_all(warp, addresses, bytes, Access::kWrite, host)) return;
  if ((in.modifiers & kOrdersMemory) != 0) warp.block->races.begin_epoch();
  count_access(warp, in, addresses, bytes, Access::kWrite);
  if (addresses.space == Space::kShared && warp.block->races.is_enabled()) {
    note_shared_writes(warp, in, addresses, host);
  }
  const std::uint32_t* list = &warp.block->program->list[in.list];
  for (std::uint32_t i = 0; i < in.count; ++i) {
    for_lanes(warp.mask, [&](int lane) {
      const std::uint64_t bits = warp.read(list[i], lane);
      std::memcpy(host[lane] + i * in.bytes, &bits, in.bytes);
    });
  }
  if ((in.modifiers & kOrdersMemory) != 0) warp.block->races.begin_epoch();
}

/// Words that change speed on a device, and nothing here.
void take_hints(Decoder& d) {
  while (d.take_one_of({"ca",
                        "cg",
                        "cs",
                        "lu",
                        "cv",
                        "wb",
                        "wt",
                        "nc",
                        "weak",
                        "L1::evict_normal",
                        "L1::evict_unchanged",
                        "L1::evict_first",
                        "L1::evict_last",
                        "L1::no_allocate",
                        "L2::64B",
                        "L2::128B",
                        "L2::256B",
                        "L2::evict_first",
                        "L2::evict_last",
                        "L2::evict_normal"}) >= 0) {
  }
}

/// Accesses that others may wait for: what they order does not race.
std::uint32_t take_order(Decoder& d) {
  const bool orders = d.take_one_of({"volatile", "relaxed", "acquire", "release", "mmio"}) >= 0;
  d.take_one_of({"cta", "gpu", "sys"});
  return orders ? kOrdersMemory : 0;
}

/// A named base says more than the opcode: a parameter of a call lies in local memory.
Space join_spaces(Decoder& d, Space stated, Space named) {
  if (stated == Space::kParameter) {
    if (named == Space::kGeneric)
      return d.builder().is_function ? Space::kLocal : Space::kParameter;
    return named;
  }
  return stated == Space::kGeneric ? named : stated;
}

void read_access(Decoder& d, bool is_load) {
  Instruction& in = d.instruction;
  in.modifiers |= take_order(d);
  take_hints(d);
  const Space stated = d.take_space();
  const int vector = d.take_one_of({"v2", "v4", "v8"});
  const Type type = d.need_type();
  if (type == Type::kPred) d.refuse_form();
  d.need_operands(2, 2);
  const Operand& values = d.operand(is_load ? 0 : 1);
  d.begin_list();
  const std::size_t count = d.list(values, type, is_load, true);
  const std::size_t expected = vector < 0 ? 1 : std::size_t{2} << vector;
  if (count != expected)
    d.refuse("has " + std::to_string(count) + " registers for " + std::to_string(expected));
  in.count = static_cast<std::uint8_t>(count);
  in.bytes = static_cast<std::uint8_t>(size_of(type));
  const Space space = join_spaces(d, stated, d.address(is_load ? 1 : 0, 0));
  in.modifiers |= static_cast<std::uint32_t>(space) | (is_signed(type) ? kSigned : 0);
  in.step = is_load ? load : store;
}

void decode_ld(Decoder& d) {
  read_access(d, true);
  const Operand& address = d.operand(1);
  const Symbol* symbol = address.name.empty() ? nullptr : d.builder().find(address.name);
  const bool is_fixed = symbol != nullptr && symbol->kind == Symbol::Kind::kMemory &&
                        symbol->space == Space::kParameter;
  if (is_fixed) {
    Instruction& in = d.instruction;
    const std::size_t end = d.builder().parameter_bytes;
    const auto at = symbol->offset_bytes + static_cast<std::uint64_t>(in.offset);
    const std::size_t bytes = std::size_t{in.bytes} * in.count;
    if (at > end || bytes > end - at) d.refuse("reads beyond the kernel's parameters");
    in.offset = static_cast<std::int64_t>(at);
    in.step = load_parameter;
  }
  d.finish();
}

void decode_st(Decoder& d) {
  read_access(d, false);
  if (static_cast<Space>(d.instruction.modifiers & kSpaceBits) == Space::kParameter)
    d.refuse("writes a kernel's parameter");
  d.finish();
}

void do_nothing(Warp&, const Instruction&) {}

void decode_prefetch(Decoder& d) {
  d.take_space();
  d.take_one_of({"L1", "L2"});
  d.need_operands(1, 1);
  d.address(0, 0);
  d.instruction.step = do_nothing;
  d.finish();
}

}  // namespace

void add_loads(Opcodes* opcodes) {
  opcodes->emplace("ld", decode_ld);
  opcodes->emplace("ldu", decode_ld);
  opcodes->emplace("st", decode_st);
  opcodes->emplace("prefetch", decode_prefetch);
  opcodes->emplace("prefetchu", decode_prefetch);
}

}  // namespace sluice::cuda::ptx
