// mov, also between a register and its parts, and addresses between spaces.
#include "emulator/ptx/memory/block.h"
#include "emulator/ptx/ops/families.h"
#include "emulator/ptx/ops/lanewise.h"

namespace sluice::cuda::ptx {
namespace {

template <class S>
void move(Warp& warp, const Instruction& in) {
  warp.store(in.out, warp.lanes<S>(in.in[0]));
}
void move_predicate(Warp& warp, const Instruction& in) {
  warp.store_predicate(in.out, warp.predicate(in.in[0]));
}

/// %clock and its kind: instructions of warps stand for cycles.
void read_clock(Warp& warp, const Instruction& in) {
  for_lanes(warp.mask, [&](int lane) { warp.write(in.out, lane, warp.block->clock); });
}

/// Parts in the list, `bytes` each, to one register.
void join(Warp& warp, const Instruction& in) {
  const std::uint32_t* list = &warp.block->program->list[in.list];
  for_lanes(warp.mask, [&](int lane) {
    std::uint64_t bits = 0;
    for (int i = 0; i < in.count; ++i) {
      const std::uint64_t part =
          warp.read(list[i], lane) & (in.bytes == 4 ? 0xffffffffu : (1u << 8 * in.bytes) - 1);
      bits |= part << 8 * in.bytes * i;
    }
    warp.write(in.out, lane, bits);
  });
}
void split(Warp& warp, const Instruction& in) {
  const std::uint32_t* list = &warp.block->program->list[in.list];
  for_lanes(warp.mask, [&](int lane) {
    const std::uint64_t bits = warp.read(in.in[0], lane);
    for (int i = 0; i < in.count; ++i) {
      const std::uint64_t part =
          bits >> 8 * in.bytes * i & (in.bytes == 4 ? 0xffffffffu : (1u << 8 * in.bytes) - 1);
      warp.write(list[i], lane, part);
    }
  });
}

Type part_type(Decoder& d, Type type, std::size_t parts) {
  const std::size_t size = size_of(type);
  if (parts < 2 || size / parts * parts != size) d.refuse_form();
  switch (size / parts) {
    case 1: return Type::kB8;
    case 2: return Type::kB16;
    case 4: return Type::kB32;
    default: d.refuse_form();
  }
}

void decode_parts(Decoder& d, Type type, bool is_split) {
  const Operand& vector = d.operand(is_split ? 0 : 1);
  const Type part = part_type(d, type, vector.parts.size());
  d.begin_list();
  // Registers of 8 bits do not exist for mov: parts of a byte stand in larger ones.
  d.instruction.count =
      static_cast<std::uint8_t>(d.list(vector, part, is_split, part == Type::kB8));
  d.instruction.bytes = static_cast<std::uint8_t>(size_of(part));
  if (is_split) {
    d.instruction.in[0] = d.source(1, type);
  } else {
    d.instruction.out = d.target(0, type);
  }
  d.instruction.step = is_split ? split : join;
  d.finish();
}

bool is_clock(std::string_view name) {
  return name == "%clock" || name == "%clock_hi" || name == "%clock64" || name == "%globaltimer" ||
         name == "%globaltimer_lo";
}

void decode_mov(Decoder& d) {
  const Type type = d.need_type();
  d.need_operands(2, 2);
  if (type != Type::kPred && size_of(type) < 2) d.refuse_form();
  if (d.operand(0).kind == Operand::Kind::kVector) return decode_parts(d, type, true);
  if (d.operand(1).kind == Operand::Kind::kVector) return decode_parts(d, type, false);
  d.instruction.out = d.target(0, type);
  if (is_clock(d.operand(1).name)) {
    d.instruction.step = read_clock;
    return d.finish();
  }
  d.instruction.in[0] = d.source(1, type);
  d.instruction.step = type == Type::kPred ? move_predicate
                       : is_wide(type)     ? move<std::uint64_t>
                                           : move<std::uint32_t>;
  d.finish();
}

std::uint64_t window_of_space(Space space) {
  switch (space) {
    case Space::kShared: return kSharedWindow;
    case Space::kLocal: return kLocalWindow;
    case Space::kParameter: return kParameterWindow;
    default: return 0;
  }
}

/// cvta adds the window of a space, cvta.to takes it away.
void add_window(Warp& warp, const Instruction& in) {
  const auto window = static_cast<std::uint64_t>(in.offset);
  for_lanes(warp.mask,
            [&](int lane) { warp.write(in.out, lane, warp.read(in.in[0], lane) + window); });
}

void decode_cvta(Decoder& d) {
  const bool to_space = d.take("to");
  const std::uint64_t window = window_of_space(d.take_space());
  const Type type = d.need_type();
  if (type != Type::kU64) d.refuse_form();
  d.need_operands(2, 2);
  d.instruction.out = d.target(0, type);
  d.instruction.in[0] = d.source(1, type);
  d.instruction.offset = static_cast<std::int64_t>(to_space ? 0 - window : window);
  d.instruction.step = add_window;
  d.finish();
}

void test_space(Warp& warp, const Instruction& in) {
  std::uint32_t bits = 0;
  for_lanes(warp.mask, [&](int lane) {
    const std::uint64_t window = warp.read(in.in[0], lane) >> 56 << 56;
    bits |= std::uint32_t{window == static_cast<std::uint64_t>(in.offset)} << lane;
  });
  warp.store_predicate(in.out, bits);
}

void decode_isspacep(Decoder& d) {
  const Space space = d.take_space();
  if (space == Space::kGeneric) d.refuse_form();
  d.need_operands(2, 2);
  d.instruction.out = d.target(0, Type::kPred);
  d.instruction.in[0] = d.source(1, Type::kU64);
  d.instruction.offset = static_cast<std::int64_t>(window_of_space(space));
  d.instruction.step = test_space;
  d.finish();
}

}  // namespace

void add_moves(Opcodes* opcodes) {
  opcodes->emplace("mov", decode_mov);
  opcodes->emplace("cvta", decode_cvta);
  opcodes->emplace("isspacep", decode_isspacep);
}

}  // namespace sluice::cuda::ptx
