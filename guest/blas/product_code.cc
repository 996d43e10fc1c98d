// A thread computes an element of the result: the sum over k in order, in f32, by fused steps; then
// the addend, the bias and the activation.
#include "guest/blas/product_code.h"

#include <array>
#include <string_view>
#include <utility>

#include "guest/blas/kernel_text.h"

namespace sluice::guest::blas {
namespace {

struct KernelKind {
  Element factors;
  Element result;
  const char* name;
};

constexpr std::array kKinds = {KernelKind{Element::kF32, Element::kF32, "product_f32_f32"},
                               KernelKind{Element::kF16, Element::kF16, "product_f16_f16"},
                               KernelKind{Element::kF16, Element::kF32, "product_f16_f32"},
                               KernelKind{Element::kBf16, Element::kBf16, "product_bf16_bf16"},
                               KernelKind{Element::kBf16, Element::kF32, "product_bf16_f32"}};

constexpr std::string_view kParameters = R"((
  .param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u64 bias,
  .param .u64 a_row, .param .u64 a_column, .param .u64 b_row, .param .u64 b_column,
  .param .u64 c_row, .param .u64 c_column, .param .u64 d_row, .param .u64 d_column,
  .param .u64 a_stride, .param .u64 b_stride, .param .u64 c_stride, .param .u64 d_stride,
  .param .u32 m, .param .u32 n, .param .u32 k, .param .f32 alpha, .param .f32 beta,
  .param .u32 activation)
{
  .reg .pred %p<4>;
  .reg .b16 %h<2>;
  .reg .b32 %r<20>;
  .reg .f32 %f<12>;
  .reg .b64 %rd<32>;
)";

/// Row %r4 and column %r8 of the result; %rd4, %rd5 and %rd6 are the row, the column and the item
/// of the batch.
constexpr std::string_view kPlace = R"(
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  mov.u32 %r5, %ctaid.y;
  mov.u32 %r6, %ntid.y;
  mov.u32 %r7, %tid.y;
  mad.lo.u32 %r8, %r5, %r6, %r7;
  ld.param.u32 %r9, [m];
  ld.param.u32 %r10, [n];
  ld.param.u32 %r11, [k];
  setp.ge.u32 %p1, %r4, %r9;
  @%p1 bra DONE;
  setp.ge.u32 %p1, %r8, %r10;
  @%p1 bra DONE;
  mov.u32 %r12, %ctaid.z;
  cvt.u64.u32 %rd4, %r4;
  cvt.u64.u32 %rd5, %r8;
  cvt.u64.u32 %rd6, %r12;
)";

/// Reads an address and moves it by the row, the column and the item, as far as they have steps.
struct Place {
  const char* address;  ///< the register
  const char* matrix;   ///< the parameter
  bool has_row;
  bool has_column;
};

std::string find(const Place& place) {
  const std::string name = place.matrix;
  const std::string address = place.address;
  std::string text = "  ld.param.u64 " + address + ", [" + name + "];\n";
  const auto move = [&](const char* index, const std::string& step) {
    text += "  ld.param.u64 %rd9, [" + name + step + "];\n  mul.lo.u64 %rd9, " + index +
            ", %rd9;\n  add.u64 " + address + ", " + address + ", %rd9;\n";
  };
  if (place.has_row) move("%rd4", "_row");
  if (place.has_column) move("%rd5", "_column");
  move("%rd6", "_stride");
  return text;
}

std::string kernel(const KernelKind& kind) {
  std::string text = std::string(".visible .entry ") + kind.name;
  text += kParameters;
  text += kPlace;
  text += find({"%rd1", "a", true, false}) + find({"%rd2", "b", false, true});
  text += find({"%rd3", "c", true, true}) + find({"%rd16", "d", true, true});
  text +=
      "  ld.param.u64 %rd14, [a_column];\n  ld.param.u64 %rd15, [b_row];\n"
      "  mov.f32 %f1, 0f00000000;\n  mov.u32 %r13, 0;\n"
      "LOOP:\n  setp.ge.u32 %p1, %r13, %r11;\n  @%p1 bra SUM;\n";
  text += load(kind.factors, "%f2", "%rd1") + load(kind.factors, "%f3", "%rd2");
  text +=
      "  fma.rn.f32 %f1, %f2, %f3, %f1;\n  add.u64 %rd1, %rd1, %rd14;\n"
      "  add.u64 %rd2, %rd2, %rd15;\n  add.u32 %r13, %r13, 1;\n  bra LOOP;\n";
  return text + end_of_kernel(kind.result);
}

}  // namespace

const char* kernel_name(Element factors, Element result) {
  for (const KernelKind& kind : kKinds) {
    if (kind.factors == factors && kind.result == result) return kind.name;
  }
  return nullptr;
}

const std::string& product_fatbin() {
  static const auto* const kFatbin = [] {
    std::string text(kTextHeader);
    for (const KernelKind& kind : kKinds) text += kernel(kind);
    return new std::string(fatbin_of(std::move(text)));
  }();
  return *kFatbin;
}

}  // namespace sluice::guest::blas
