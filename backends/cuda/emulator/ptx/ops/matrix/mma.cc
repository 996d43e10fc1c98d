// Products of small matrices spread over a warp, and the loads and stores of such matrices.
//
// PTX ISA, "Matrix Fragments for mma": with e elements in 32 bits, register r of A holds row
// lane / 4 + 8 (r mod R) and columns e (lane mod 4) + 4 e (r / R) on, R = M / 8; register r of B
// holds column lane / 4 and rows e (lane mod 4) + 4 e r on. C and D hold row lane / 4 + 8 (r / 2)
// and columns 2 (lane mod 4) + r mod 2; in fp16 two of them share a register.
#include "emulator/ptx/memory/spaces.h"
#include "emulator/ptx/ops/families.h"
#include "emulator/ptx/ops/half_numbers.h"
#include "emulator/ptx/ops/matrix/whole_warp.h"

namespace sluice::cuda::ptx {
namespace {

constexpr int kMaxM = 16, kN = 8, kMaxK = 64;

// Instruction::modifiers of mma: element types, M and K.
struct Shape {
  Type a, b, c;
  int m, k;

  std::uint32_t encode() const {
    return static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b) << 6 |
           static_cast<std::uint32_t>(c) << 12 | static_cast<std::uint32_t>(m) << 18 |
           static_cast<std::uint32_t>(k) << 24;
  }
  static Shape decode(std::uint32_t bits) {
    return {static_cast<Type>(bits & 63), static_cast<Type>(bits >> 6 & 63),
            static_cast<Type>(bits >> 12 & 63), static_cast<int>(bits >> 18 & 63),
            static_cast<int>(bits >> 24)};
  }
  int per_register() const { return static_cast<int>(4 / size_of(a)); }
  int a_registers() const { return m * k / kLanes / per_register(); }
  int b_registers() const { return kN * k / kLanes / per_register(); }
  int c_elements() const { return m * kN / kLanes; }
  int c_registers() const { return c == Type::kF16 ? c_elements() / 2 : c_elements(); }
};

/// Element `j` of a register, as the double that it stands for.
double element(Type type, std::uint32_t bits, int j) {
  switch (type) {
    case Type::kF16: return to_float(Half{static_cast<std::uint16_t>(bits >> 16 * j)});
    case Type::kBf16: return to_float(Brain{static_cast<std::uint16_t>(bits >> 16 * j)});
    case Type::kTf32: return unpack<float>(bits & ~0x1fffu);
    case Type::kS8: return static_cast<std::int8_t>(bits >> 8 * j);
    default: return static_cast<std::uint8_t>(bits >> 8 * j);
  }
}

/// A and B as arrays. Sums of their products are exact in double for bytes, and for floats rounded
/// once at the end, finer than a device does.
struct Factors {
  double a[kMaxM][kMaxK], b[kN][kMaxK];

  void read(const Warp& warp, const Shape& shape, const std::uint32_t* list) {
    const int e = shape.per_register(), blocks = shape.m / 8;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int group = lane / 4, column = lane % 4 * e;
      for (int r = 0; r < shape.a_registers(); ++r) {
        const std::uint32_t bits = warp.lanes<std::uint32_t>(list[r])[lane];
        for (int j = 0; j < e; ++j) {
          a[group + 8 * (r % blocks)][column + 4 * e * (r / blocks) + j] =
              element(shape.a, bits, j);
        }
      }
      for (int r = 0; r < shape.b_registers(); ++r) {
        const std::uint32_t bits = warp.lanes<std::uint32_t>(list[shape.a_registers() + r])[lane];
        for (int j = 0; j < e; ++j) b[group][column + 4 * e * r + j] = element(shape.b, bits, j);
      }
    }
  }
  double dot(int row, int column, int k) const {
    double sum = 0;
    for (int i = 0; i < k; ++i) sum += a[row][i] * b[column][i];
    return sum;
  }
};

std::uint32_t add_product(Type type, std::uint32_t c, double product) {
  if (type == Type::kF32) return pack(static_cast<float>(product + unpack<float>(c)));
  if (type == Type::kS32) return c + static_cast<std::uint32_t>(static_cast<std::int64_t>(product));
  Half half;
  round_from(product + to_float(Half{static_cast<std::uint16_t>(c)}), Rounding::kNearest, &half);
  return half.bits;
}

std::int32_t clamp_sum(std::uint32_t c, double product) {
  const double sum = product + static_cast<std::int32_t>(c);
  return static_cast<std::int32_t>(std::min(std::max(sum, -2147483648.0), 2147483647.0));
}

/// The list holds registers of A, B, C and D, in this order.
void multiply(Warp& warp, const Instruction& in) {
  if (!is_whole(warp)) return;
  const Shape shape = Shape::decode(in.modifiers);
  ++warp.block->counts->matrix_products;
  warp.block->counts->matrix_multiplications +=
      static_cast<std::uint64_t>(shape.m) * kN * static_cast<std::uint64_t>(shape.k);
  const std::uint32_t* list = &warp.block->program->list[in.list];
  Factors factors;
  factors.read(warp, shape, list);
  const std::uint32_t *c = list + shape.a_registers() + shape.b_registers(),
                      *d = c + shape.c_registers();
  std::uint32_t results[4][kLanes] = {};
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < shape.c_elements(); ++i) {
      const double product = factors.dot(lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2, shape.k);
      if (shape.c == Type::kF16) {
        const std::uint32_t bits =
            warp.lanes<std::uint32_t>(c[i / 2])[lane] >> 16 * (i % 2) & 0xffffu;
        results[i / 2][lane] |= add_product(shape.c, bits, product) << 16 * (i % 2);
      } else {
        const std::uint32_t bits = warp.lanes<std::uint32_t>(c[i])[lane];
        results[i][lane] =
            in.count == 1 ? pack(clamp_sum(bits, product)) : add_product(shape.c, bits, product);
      }
    }
  }
  for (int r = 0; r < shape.c_registers(); ++r) warp.store(d[r], results[r]);
}

/// m8n8k4 of f64: A and B one double per lane, C and D two.
void multiply_doubles(Warp& warp, const Instruction& in) {
  if (!is_whole(warp)) return;
  ++warp.block->counts->matrix_products;
  warp.block->counts->matrix_multiplications += std::uint64_t{8} * 8 * 4;
  const std::uint32_t* list = &warp.block->program->list[in.list];
  const auto value = [&](int place, int lane) {
    return unpack<double>(warp.lanes<double>(list[place])[lane]);
  };
  std::uint64_t results[2][kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < 2; ++i) {
      double sum = value(2 + i, lane);
      for (int k = 0; k < 4; ++k)
        sum = std::fma(value(0, lane / 4 * 4 + k), value(1, (lane % 4 * 2 + i) * 4 + k), sum);
      results[i][lane] = pack(sum);
    }
  }
  for (int i = 0; i < 2; ++i) warp.store(list[4 + i], results[i]);
}

bool is_known(const Shape& s) {
  if (s.m == 16 && s.k > 0 && s.a == s.b) {
    const bool is_half = s.a == Type::kF16 || s.a == Type::kBf16;
    if (is_half && (s.k == 8 || s.k == 16))
      return s.c == Type::kF32 || (s.a == Type::kF16 && s.c == Type::kF16);
    if (s.a == Type::kTf32 && (s.k == 4 || s.k == 8)) return s.c == Type::kF32;
  }
  const bool are_bytes =
      size_of(s.a) == 1 && size_of(s.b) == 1 && s.a != Type::kB8 && s.b != Type::kB8;
  return are_bytes && s.c == Type::kS32 &&
         (s.m == 16 ? s.k == 16 || s.k == 32 : s.m == 8 && s.k == 16);
}

void read_list(Decoder& d, std::size_t operand, Type type, int count, bool is_target) {
  if (static_cast<int>(d.list(d.operand(operand), type, is_target)) != count)
    d.refuse("has another number of registers than its shape needs");
}

void decode_mma(Decoder& d) {
  struct Size {
    std::string_view name;
    int m, k;
  };
  constexpr Size kSizes[] = {{"m16n8k4", 16, 4},   {"m16n8k8", 16, 8}, {"m16n8k16", 16, 16},
                             {"m16n8k32", 16, 32}, {"m8n8k16", 8, 16}, {"m8n8k4", 8, 4}};
  if (!d.take("sync")) d.refuse_form();
  d.take("aligned");
  Shape shape{};
  for (const Size& size : kSizes) {
    if (d.take(size.name)) shape.m = size.m, shape.k = size.k;
  }
  if (!d.take("row") || !d.take("col")) d.refuse_form();
  d.instruction.count = d.take("satfinite") ? 1 : 0;
  const Type result = d.need_type();
  shape.a = d.need_type();
  shape.b = d.need_type();
  shape.c = d.need_type();
  d.need_operands(4, 4);
  d.begin_list();
  if (result == Type::kF64 && shape.m == 8 && shape.k == 4 && shape.a == Type::kF64 &&
      shape.b == Type::kF64) {
    read_list(d, 1, Type::kF64, 1, false);
    read_list(d, 2, Type::kF64, 1, false);
    read_list(d, 3, Type::kF64, 2, false);
    read_list(d, 0, Type::kF64, 2, true);
    d.instruction.step = multiply_doubles;
    return d.finish();
  }
  if (result != shape.c || !is_known(shape)) d.refuse_form();
  const Type sum = shape.c == Type::kF16 ? Type::kB32 : shape.c;
  read_list(d, 1, Type::kB32, shape.a_registers(), false);
  read_list(d, 2, Type::kB32, shape.b_registers(), false);
  read_list(d, 3, sum, shape.c_registers(), false);
  read_list(d, 0, sum, shape.c_registers(), true);
  d.instruction.modifiers = shape.encode();
  d.instruction.step = multiply;
  d.finish();
}

// ---- ldmatrix, stmatrix: lanes 8i to 8i + 7 hold the addresses of the rows of matrix i
// --------------

constexpr std::uint32_t kTransposed = 1, kStores = 2;

/// The two halves that a lane holds of a matrix: row lane / 4, columns 2 (lane mod 4) and the next.
void move_matrix(Warp& warp, const Instruction& in, std::byte* const rows[8], Place place) {
  const bool is_transposed = (in.modifiers & kTransposed) != 0,
             stores = (in.modifiers & kStores) != 0;
  std::uint32_t* lanes = warp.lanes<std::uint32_t>(place);
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int half = 0; half < 2; ++half) {
      int row = lane / 4, column = lane % 4 * 2 + half;
      if (is_transposed) std::swap(row, column);
      std::byte* memory = rows[row] + column * 2;
      auto* bits =
          reinterpret_cast<std::byte*>(&lanes[lane]) + half * 2;  // little-endian, as registers are
      if (stores) {
        std::memcpy(memory, bits, 2);
      } else {
        std::memcpy(bits, memory, 2);
      }
    }
  }
}

void move_matrices(Warp& warp, const Instruction& in) {
  if (!is_whole(warp)) return;
  constexpr std::uint32_t kRowBytes = 16;
  const bool stores = (in.modifiers & kStores) != 0;
  const Addresses addresses = find_addresses(warp, in, Space::kShared, in.in[0]);
  const Access access = stores ? Access::kWrite : Access::kRead;
  const std::uint32_t givers = in.count == 4 ? kAllLanes : (1u << 8 * in.count) - 1;
  std::byte* rows[kLanes] = {};
  warp.mask = givers;
  if (reach_all(warp, addresses, kRowBytes, access, rows))
    count_access(warp, in, addresses, kRowBytes, access);
  if (stores && warp.block->races.is_enabled()) {
    for_lanes(givers, [&](int lane) {
      warp.block->races.write(warp.index, in.line, addresses.of[lane], kRowBytes, false);
    });
    check_races(warp, 0);
  }
  warp.mask = kAllLanes;
  if (warp.has_failed) return;
  const std::uint32_t* list = &warp.block->program->list[in.list];
  for (int i = 0; i < in.count; ++i) move_matrix(warp, in, rows + 8 * i, list[i]);
}

void decode_matrices(Decoder& d) {
  const bool stores = d.family() == "stmatrix";
  if (!d.take("sync")) d.refuse_form();
  d.take("aligned");
  const int size = d.take_one_of({"x1", "x2", "x4"});
  if (!d.take("m8n8") || size < 0) d.refuse_form();
  d.instruction.modifiers = (d.take("trans") ? kTransposed : 0) | (stores ? kStores : 0);
  if (!d.take("shared") && !d.take("shared::cta")) d.refuse_form();
  if (d.need_type() != Type::kB16) d.refuse_form();
  d.need_operands(2, 2);
  d.instruction.count = static_cast<std::uint8_t>(1 << size);
  d.begin_list();
  read_list(d, stores ? 1 : 0, Type::kB32, d.instruction.count, !stores);
  d.address(stores ? 0 : 1, 0);
  d.instruction.step = move_matrices;
  d.finish();
}

}  // namespace

void add_matrix(Opcodes* opcodes) {
  opcodes->emplace("mma", decode_mma);
  opcodes->emplace("ldmatrix", decode_matrices);
  opcodes->emplace("stmatrix", decode_matrices);
}

}  // namespace sluice::cuda::ptx
