// wmma: 16 x 16 x 16 products whose fragments have no layout that a program may rely on. Here
// element n of a fragment, row n / 16 and column n mod 16, lies in lane n / 8; fragments of A and B
// that have room for 16 halves in a lane leave the rest unused.
#include "emulator/ptx/memory/spaces.h"
#include "emulator/ptx/ops/families.h"
#include "emulator/ptx/ops/half_numbers.h"
#include "emulator/ptx/ops/matrix/whole_warp.h"

namespace sluice::cuda::ptx {
namespace {

constexpr int kSide = 16, kPerLane = kSide * kSide / kLanes;

// Modifiers: the elements' type, whether columns are contiguous, whether A and B are bf16.
constexpr std::uint32_t kTypeMask = 63, kColumns = 64;

Type type_of(const Instruction& in) { return static_cast<Type>(in.modifiers & kTypeMask); }

/// Element `n` of the fragment whose registers `list` names; halves share registers in twos.
std::uint32_t read_element(const Warp& warp, const std::uint32_t* list, Type type, int n) {
  const int lane = n / kPerLane, i = n % kPerLane;
  if (size_of(type) == 4) return warp.lanes<std::uint32_t>(list[i])[lane];
  return warp.lanes<std::uint32_t>(list[i / 2])[lane] >> 16 * (i % 2) & 0xffffu;
}
void write_element(const Warp& warp, const std::uint32_t* list, Type type, int n,
                   std::uint32_t bits) {
  const int lane = n / kPerLane, i = n % kPerLane;
  if (size_of(type) == 4) {
    warp.lanes<std::uint32_t>(list[i])[lane] = bits;
  } else {
    std::uint32_t& pair = warp.lanes<std::uint32_t>(list[i / 2])[lane];
    pair = (pair & 0xffffu << 16 * (1 - i % 2)) | bits << 16 * (i % 2);
  }
}

float value_of(Type type, std::uint32_t bits) {
  if (type == Type::kF32) return unpack<float>(bits);
  if (type == Type::kF16) return to_float(Half{static_cast<std::uint16_t>(bits)});
  return to_float(Brain{static_cast<std::uint16_t>(bits)});
}

/// Loads or stores a matrix whose rows, or columns, begin in[1] elements apart.
template <bool kStores>
void move_fragment(Warp& warp, const Instruction& in) {
  if (!is_whole(warp)) return;
  const Type type = type_of(in);
  const auto bytes = static_cast<std::uint32_t>(size_of(type));
  const std::uint32_t* list = &warp.block->program->list[in.list];
  const Addresses begin = find_addresses(warp, in, static_cast<Space>(in.bytes), in.in[0]);
  const std::uint64_t stride = warp.read(in.in[1], 0);
  const Access access = kStores ? Access::kWrite : Access::kRead;
  for (int turn = 0; turn < kPerLane && !warp.has_failed; ++turn) {
    // A turn moves two rows, so that neighbouring lanes have neighbouring addresses.
    Addresses addresses = begin;
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto outer = static_cast<std::uint64_t>(turn * 2 + lane / kSide);
      addresses.of[lane] =
          begin.of[0] + (outer * stride + static_cast<std::uint64_t>(lane % kSide)) * bytes;
    }
    std::byte* host[kLanes];
    if (!reach_all(warp, addresses, bytes, access, host)) return;
    count_access(warp, in, addresses, bytes, access);
    for (int lane = 0; lane < kLanes; ++lane) {
      const int outer = turn * 2 + lane / kSide, inner = lane % kSide;
      const int n = (in.modifiers & kColumns) != 0 ? inner * kSide + outer : outer * kSide + inner;
      std::uint32_t bits = kStores ? read_element(warp, list, type, n) : 0;
      if (kStores && addresses.space == Space::kShared) {
        const bool is_unchanged = std::memcmp(&bits, host[lane], bytes) == 0;
        if (warp.block->races.is_enabled())
          warp.block->races.write(warp.index, in.line, addresses.of[lane], bytes, is_unchanged);
      }
      std::memcpy(kStores ? static_cast<void*>(host[lane]) : &bits,
                  kStores ? static_cast<void*>(&bits) : host[lane], bytes);
      if (!kStores) write_element(warp, list, type, n, bits);
    }
    check_races(warp, 0);
  }
}

/// The list holds registers of A, B, C and D; `count`: of A; C and D have their types in `offset`.
void multiply_fragments(Warp& warp, const Instruction& in) {
  if (!is_whole(warp)) return;
  ++warp.block->counts->matrix_products;
  warp.block->counts->matrix_multiplications += std::uint64_t{kSide} * kSide * kSide;
  const Type factor = type_of(in), c_type = static_cast<Type>(in.offset & 63),
             d_type = static_cast<Type>(in.offset >> 6);
  const std::uint32_t *a = &warp.block->program->list[in.list], *b = a + in.count,
                      *c = b + in.count;
  const std::uint32_t* d = c + (c_type == Type::kF32 ? kPerLane : kPerLane / 2);
  float left[kSide * kSide], right[kSide * kSide];
  std::uint32_t results[kSide * kSide];
  for (int n = 0; n < kSide * kSide; ++n) {
    left[n] = value_of(factor, read_element(warp, a, factor, n));
    right[n] = value_of(factor, read_element(warp, b, factor, n));
  }
  for (int n = 0; n < kSide * kSide; ++n) {
    double sum = value_of(c_type, read_element(warp, c, c_type, n));
    for (int k = 0; k < kSide; ++k)
      sum += double{left[n / kSide * kSide + k]} * right[k * kSide + n % kSide];
    Half half;
    round_from(sum, Rounding::kNearest, &half);
    results[n] = d_type == Type::kF32 ? pack(static_cast<float>(sum)) : half.bits;
  }
  for (int n = 0; n < kSide * kSide; ++n) write_element(warp, d, d_type, n, results[n]);
}

void read_fragment(Decoder& d, std::size_t operand, Type type, std::size_t count, bool is_target) {
  const Type place = type == Type::kF32 ? Type::kF32 : Type::kB32;
  if (d.list(d.operand(operand), place, is_target) != count)
    d.refuse("has another number of registers than its shape needs");
}

std::size_t fragment_registers(Type type, bool is_factor) {
  if (is_factor) return type == Type::kF16 ? 8 : 4;
  return type == Type::kF32 ? kPerLane : kPerLane / 2;
}

void decode_move(Decoder& d, bool stores) {
  const int role = d.take_one_of({"a", "b", "c", "d"});
  const int layout = d.take_one_of({"row", "col"});
  if (role < 0 || layout < 0 || !d.take("m16n16k16")) d.refuse_form();
  Instruction& in = d.instruction;
  const Space stated = d.take_space();
  const Type type = d.need_type();
  const bool is_factor = role < 2;
  const bool is_known =
      type == Type::kF16 || (is_factor ? type == Type::kBf16 : type == Type::kF32);
  if (!is_known) d.refuse_form();
  d.need_operands(2, 3);
  d.begin_list();
  read_fragment(d, stores ? 1 : 0, type, fragment_registers(type, is_factor), !stores);
  const Space named = d.address(stores ? 0 : 1, 0);
  in.bytes = static_cast<std::uint8_t>(stated == Space::kGeneric ? named : stated);
  in.in[1] = d.operand_count() == 3 ? d.source(2, Type::kU32) : d.builder().number(kSide, false);
  in.modifiers = static_cast<std::uint32_t>(type) | (layout == 1 ? kColumns : 0);
  in.step = stores ? move_fragment<true> : move_fragment<false>;
  d.finish();
}

void decode_product(Decoder& d) {
  // Layouts say how fragments were loaded, which they remember.
  for (int i = 0; i < 2; ++i) {
    if (d.take_one_of({"row", "col"}) < 0) d.refuse_form();
  }
  if (!d.take("m16n16k16")) d.refuse_form();
  const Type first = d.need_type(), second = d.need_type(), third = d.take_type(),
             fourth = d.take_type();
  // Either .dtype.ctype of fp16 factors, or .dtype.atype.btype.ctype.
  const bool has_factor_types = third != Type::kNone;
  const Type factor = has_factor_types ? second : Type::kF16,
             c = has_factor_types ? fourth : second;
  const bool is_known =
      (first == Type::kF16 || first == Type::kF32) && (c == Type::kF16 || c == Type::kF32) &&
      (factor == Type::kF16 || (factor == Type::kBf16 && third == factor && first == Type::kF32));
  if (!is_known) d.refuse_form();
  d.need_operands(4, 4);
  d.begin_list();
  d.instruction.count = static_cast<std::uint8_t>(fragment_registers(factor, true));
  read_fragment(d, 1, factor, d.instruction.count, false);
  read_fragment(d, 2, factor, d.instruction.count, false);
  read_fragment(d, 3, c, fragment_registers(c, false), false);
  read_fragment(d, 0, first, fragment_registers(first, false), true);
  d.instruction.modifiers = static_cast<std::uint32_t>(factor);
  d.instruction.offset = static_cast<std::int64_t>(c) | static_cast<std::int64_t>(first) << 6;
  d.instruction.step = multiply_fragments;
  d.finish();
}

void decode_wmma(Decoder& d) {
  const int kind = d.take_one_of({"load", "store", "mma"});
  if (kind < 0 || !d.take("sync")) d.refuse_form();
  d.take("aligned");
  return kind == 2 ? decode_product(d) : decode_move(d, kind == 1);
}

}  // namespace

void add_wmma(Opcodes* opcodes) { opcodes->emplace("wmma", decode_wmma); }

}  // namespace sluice::cuda::ptx
