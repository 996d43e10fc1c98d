// cp.async and its waits.
#include "emulator/ptx/memory/copies.h"

#include "emulator/ptx/memory/spaces.h"
#include "emulator/ptx/ops/families.h"

namespace sluice::cuda::ptx {
namespace {

// A wait for all copies, closed groups or not.
constexpr std::uint32_t kAll = 1;

/// Both ends are looked up when the copy lands: a device reads its source that late, too.
void land(Warp& warp, const AsyncCopy& copy) {
  Block& block = *warp.block;
  std::byte bytes[16] = {};
  if (copy.size_bytes > 0) {
    const std::byte* from = block.global->at(copy.from, copy.size_bytes, Access::kRead);
    if (from == nullptr) {
      return warp.fail(
          SLUICE_OUT_OF_RANGE, copy.lane,
          "the copy of line " + std::to_string(copy.line) +
              " reads outside of memory: " + block.global->describe(copy.from, copy.size_bytes));
    }
    std::memcpy(bytes, from, copy.size_bytes);
  }
  std::memcpy(block.shared.data() + copy.to, bytes, copy.bytes);
  if (block.races.is_enabled()) {
    block.races.write(warp.index, copy.line, copy.to, copy.bytes, false);
    check_races(warp, copy.lane);
  }
}

/// in[0]: in shared memory, in[1]: in device memory, in[2]: bytes that come from there.
void copy(Warp& warp, const Instruction& in) {
  const Addresses to = find_addresses(warp, in, Space::kShared, in.in[0]);
  Instruction source = in;
  source.offset = static_cast<std::int32_t>(in.target);
  const Addresses from = find_addresses(warp, source, Space::kGlobal, in.in[1]);
  Block& block = *warp.block;
  const std::uint32_t all = warp.mask;
  for_lanes(all, [&](int lane) {  // zeros come from nowhere
    if (warp.read(in.in[2], lane) == 0) warp.mask &= ~(1U << lane);
  });
  if (warp.mask != 0) count_access(warp, in, from, in.bytes, Access::kRead);
  warp.mask = all;
  for_lanes(warp.mask, [&](int lane) {
    if (warp.has_failed || reach(warp, to, lane, in.bytes, Access::kWrite) == nullptr) return;
    const auto size = static_cast<std::uint32_t>(warp.read(in.in[2], lane));
    if (size > in.bytes)
      return warp.fail(SLUICE_OUT_OF_RANGE, lane, "more bytes to copy than the copy has");
    if (from.of[lane] % in.bytes != 0)
      return warp.fail(SLUICE_OUT_OF_RANGE, lane, "the copy's source is not aligned");
    const AsyncCopy made{from.of[lane], to.of[lane], in.bytes, size, in.line, lane};
    // Half of the copies land at once: a buffer that others still read shows then. The other half
    // land when they are waited for: a missing wait shows.
    if (block.launch->seed != 0 && block.random.below(2) == 0) return land(warp, made);
    block.copies[warp.index].add(made);
  });
}

void commit(Warp& warp, const Instruction&) {
  for_lanes(warp.mask, [&](int lane) { warp.block->copies[warp.index].close_group(lane); });
}

void wait(Warp& warp, const Instruction& in) {
  const auto newest = static_cast<std::uint64_t>(in.offset);
  for (const AsyncCopy& copied :
       warp.block->copies[warp.index].take(warp.mask, newest, in.modifiers == kAll)) {
    if (!warp.has_failed) land(warp, copied);
  }
}

void take_copy_hints(Decoder& d) {
  while (d.take_one_of({"L2::64B", "L2::128B", "L2::256B", "ca", "cg"}) >= 0) {
  }
}

void decode_copy(Decoder& d) {
  take_copy_hints(d);
  d.take_one_of({"shared", "shared::cta"});
  d.take("global");
  d.need_operands(3, 4);
  Instruction& in = d.instruction;
  const Operand& bytes = d.operand(2);
  const bool is_size = bytes.kind == Operand::Kind::kInteger &&
                       (bytes.bits == 4 || bytes.bits == 8 || bytes.bits == 16);
  if (!is_size) d.refuse_form();
  in.bytes = static_cast<std::uint8_t>(bytes.bits);
  d.address(1, 1);
  in.target =
      static_cast<std::uint32_t>(in.offset);  // the source's offset; the target's stays in `offset`
  if (static_cast<std::int32_t>(in.target) != in.offset) d.refuse_form();
  d.address(0, 0);
  if (d.operand_count() == 4) {
    in.in[2] = d.source(3, Type::kU32);
  } else {
    in.in[2] = d.builder().number(bytes.bits, false);
  }
  in.step = copy;
  d.finish();
}

void decode_cp(Decoder& d) {
  if (!d.take("async")) d.refuse_form();
  if (d.take("commit_group")) {
    d.need_operands(0, 0);
    d.instruction.step = commit;
    return d.finish();
  }
  const int waits = d.take_one_of({"wait_group", "wait_all"});
  if (waits < 0) return decode_copy(d);
  d.need_operands(waits == 0 ? 1 : 0, waits == 0 ? 1 : 0);
  if (waits == 0 && d.operand(0).kind != Operand::Kind::kInteger) d.refuse_form();
  d.instruction.offset = waits == 0 ? static_cast<std::int64_t>(d.operand(0).bits) : 0;
  d.instruction.modifiers = waits == 0 ? 0 : kAll;
  d.instruction.step = wait;
  d.finish();
}

}  // namespace

void add_copies(Opcodes* opcodes) { opcodes->emplace("cp", decode_cp); }

}  // namespace sluice::cuda::ptx
