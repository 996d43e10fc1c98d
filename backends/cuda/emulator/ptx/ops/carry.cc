// Arithmetic with a carry: add.cc, addc, sub.cc, subc, mad.cc, madc, from which compilers make
// wider numbers. The carry of all lanes is one mask, a place of the kernel.
#include "emulator/ptx/code/warp.h"
#include "emulator/ptx/ops/families.h"

namespace sluice::cuda::ptx {
namespace {

// Modifiers.
constexpr std::uint32_t kReadsCarry = 1, kWritesCarry = 2, kSubtracts = 4, kHighPart = 8,
                        kSignedProduct = 16;

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

/// The half of a product that mad asks for.
template <class T>
T product_part(std::uint32_t modifiers, T a, T b) {
  if ((modifiers & kHighPart) == 0) return static_cast<T>(a * b);
  using S = std::make_signed_t<T>;
  const Wide product =
      (modifiers & kSignedProduct) != 0
          ? static_cast<Wide>(SignedWide{static_cast<S>(a)} * SignedWide{static_cast<S>(b)})
          : Wide{a} * Wide{b};
  return static_cast<T>(product >> (8 * sizeof(T)));
}

/// `count` 3: in[0] * in[1] + in[2]; else in[0] + in[1] or in[0] - in[1]. in[3] is the carry.
template <class T>
void compute_with_carry(Warp& warp, const Instruction& in) {
  const std::uint32_t before = (in.modifiers & kReadsCarry) != 0 ? warp.predicate(in.in[3]) : 0;
  std::uint32_t after = 0;
  for_lanes(warp.mask, [&](int lane) {
    T a = warp.lanes<T>(in.in[0])[lane], b = warp.lanes<T>(in.in[1])[lane];
    if (in.count == 3) {
      a = product_part<T>(in.modifiers, a, b);
      b = warp.lanes<T>(in.in[2])[lane];
    }
    const Wide carry = before >> lane & 1;
    const Wide result =
        (in.modifiers & kSubtracts) != 0 ? Wide{a} - Wide{b} - carry : Wide{a} + Wide{b} + carry;
    warp.lanes<T>(in.out)[lane] = static_cast<T>(result);
    // Above the number: the carry, or the borrow repeated.
    after |= static_cast<std::uint32_t>(result >> (8 * sizeof(T)) & 1) << lane;
  });
  if ((in.modifiers & kWritesCarry) != 0) warp.store_predicate(in.in[3], after);
}

}  // namespace

void decode_carry(Decoder& d) {
  const std::string_view name = d.family();
  const bool is_product = name == "mad" || name == "madc", reads = name.back() == 'c';
  const bool subtracts = name == "sub" || name == "subc";
  if (!is_product && !subtracts && name != "add" && name != "addc") d.refuse_form();
  Instruction& in = d.instruction;
  in.modifiers =
      (reads ? kReadsCarry : 0) | (d.take("cc") ? kWritesCarry : 0) | (subtracts ? kSubtracts : 0);
  const int part = is_product ? d.take_one_of({"lo", "hi"}) : 0;
  const Type type = d.need_type();
  if (part < 0 || size_of(type) < 4 || is_float(type)) d.refuse_form();
  if (part == 1) in.modifiers |= kHighPart;
  if (is_signed(type)) in.modifiers |= kSignedProduct;
  in.count = is_product ? 3 : 2;
  d.need_operands(in.count + 1u, in.count + 1u);
  in.out = d.target(0, type);
  for (std::size_t i = 0; i < in.count; ++i) in.in[i] = d.source(i + 1, type);
  in.in[3] = d.builder().carry();
  in.step = is_wide(type) ? compute_with_carry<std::uint64_t> : compute_with_carry<std::uint32_t>;
  d.finish();
}

}  // namespace sluice::cuda::ptx
