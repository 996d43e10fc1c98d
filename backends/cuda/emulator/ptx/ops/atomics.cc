// atom and red: the lanes of a warp one after the other, which is one of the orders a device may
// take.
#include <algorithm>

#include "emulator/ptx/memory/spaces.h"
#include "emulator/ptx/ops/families.h"
#include "emulator/ptx/ops/half_numbers.h"

namespace sluice::cuda::ptx {
namespace {

enum class Atomic : std::uint8_t { kAnd, kOr, kXor, kCas, kExch, kAdd, kInc, kDec, kMin, kMax };

// Modifiers: the space, above it the operation and the type.
constexpr std::uint32_t kSpaceMask = 15, kOperationShift = 4, kTypeShift = 8,
                        kOrdersMemory = 1u << 16;

template <class H>
std::uint16_t add_half(std::uint64_t a, std::uint64_t b) {
  H sum;
  from_float(
      to_float(H{static_cast<std::uint16_t>(a)}) + to_float(H{static_cast<std::uint16_t>(b)}),
      &sum);
  return sum.bits;
}
template <class H>
std::uint64_t add_pair(std::uint64_t a, std::uint64_t b) {
  return add_half<H>(a, b) | std::uint64_t{add_half<H>(a >> 16, b >> 16)} << 16;
}

std::uint64_t add(Type type, std::uint64_t a, std::uint64_t b) {
  switch (type) {
    case Type::kF32:
      return pack(unpack<float>(static_cast<std::uint32_t>(a)) +
                  unpack<float>(static_cast<std::uint32_t>(b)));
    case Type::kF64: return pack(unpack<double>(a) + unpack<double>(b));
    case Type::kF16: return add_half<Half>(a, b);
    case Type::kBf16: return add_half<Brain>(a, b);
    case Type::kF16x2: return add_pair<Half>(a, b);
    case Type::kBf16x2: return add_pair<Brain>(a, b);
    default: return a + b;
  }
}

bool is_less(Type type, std::uint64_t a, std::uint64_t b) {
  switch (type) {
    case Type::kS32: return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
    case Type::kS64: return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
    default: return a < b;
  }
}

std::uint64_t combine(Atomic operation, Type type, std::uint64_t old, std::uint64_t b,
                      std::uint64_t c) {
  switch (operation) {
    case Atomic::kAnd: return old & b;
    case Atomic::kOr: return old | b;
    case Atomic::kXor: return old ^ b;
    case Atomic::kCas: return old == b ? c : old;
    case Atomic::kExch: return b;
    case Atomic::kAdd: return add(type, old, b);
    case Atomic::kInc: return old >= b ? 0 : old + 1;
    case Atomic::kDec: return old == 0 || old > b ? b : old - 1;
    case Atomic::kMin: return is_less(type, b, old) ? b : old;
    default: return is_less(type, old, b) ? b : old;
  }
}

void update(Warp& warp, const Instruction& in) {
  const Addresses addresses =
      find_addresses(warp, in, static_cast<Space>(in.modifiers & kSpaceMask), in.in[0]);
  const auto operation = static_cast<Atomic>(in.modifiers >> kOperationShift & 15);
  const auto type = static_cast<Type>(in.modifiers >> kTypeShift & 255);
  std::byte* host[kLanes];
  if (!reach_all(warp, addresses, in.bytes, Access::kAtomic, host)) return;
  count_access(warp, in, addresses, in.bytes, Access::kWrite);
  const std::uint64_t used =
      in.bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * in.bytes) - 1;
  for_lanes(warp.mask, [&](int lane) {
    std::uint64_t old = 0;
    std::memcpy(&old, host[lane], in.bytes);
    const std::uint64_t now =
        combine(operation, type, old, warp.read(in.in[1], lane) & used, warp.read(in.in[2], lane));
    std::memcpy(host[lane], &now, in.bytes);
    warp.write(in.out, lane, old);
  });
}

bool has_operation(Atomic operation, Type type) {
  switch (operation) {
    case Atomic::kCas: return !is_float(type) && size_of(type) >= 2;
    case Atomic::kInc:
    case Atomic::kDec: return type == Type::kU32;
    case Atomic::kAdd: return size_of(type) >= 2 && type != Type::kTf32;
    default: return size_of(type) >= 4 && !is_float(type);
  }
}

void decode_atomic(Decoder& d) {
  const bool has_result = d.family() == "atom";
  const bool orders = d.take_one_of({"relaxed", "acquire", "release", "acq_rel"}) > 0;
  d.take_one_of({"cta", "gpu", "sys"});
  const Space stated = d.take_space();
  const int operation =
      d.take_one_of({"and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max"});
  d.take("noftz");
  const Type type = d.need_type();
  if (operation < 0 || !has_operation(static_cast<Atomic>(operation), type)) d.refuse_form();
  Instruction& in = d.instruction;
  const std::size_t first = has_result ? 1 : 0;
  const bool is_exchange = operation == static_cast<int>(Atomic::kCas);
  d.need_operands(first + (is_exchange ? 3 : 2), first + (is_exchange ? 3 : 2));
  in.out = has_result ? d.target(0, type) : d.builder().sink(is_wide(type));
  const Space named = d.address(first, 0);
  in.in[1] = d.source(first + 1, type);
  in.in[2] = is_exchange ? d.source(first + 2, type) : in.in[1];
  in.bytes = static_cast<std::uint8_t>(size_of(type));
  in.modifiers = static_cast<std::uint32_t>(stated == Space::kGeneric ? named : stated) |
                 static_cast<std::uint32_t>(operation) << kOperationShift |
                 static_cast<std::uint32_t>(type) << kTypeShift | (orders ? kOrdersMemory : 0);
  in.step = update;
  d.finish();
}

}  // namespace

void add_atomics(Opcodes* opcodes) {
  opcodes->emplace("atom", decode_atomic);
  opcodes->emplace("red", decode_atomic);
}

}  // namespace sluice::cuda::ptx
