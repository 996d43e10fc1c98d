// A thread computes an element of the result: the sum over k in order, in f32, by fused steps; then
// the addend, the bias and the activation.
#include "guest/blas/product_code.h"

#include <array>
#include <string_view>
#include <utility>

#include "driver/fatbin.h"

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

constexpr std::string_view kHeader = ".version 7.8\n.target sm_75\n.address_size 64\n";

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

std::string load(Element element, const char* to, const char* address) {
  const std::string in = std::string("[") + address + "]";
  switch (element) {
    case Element::kF32: return "  ld.global.f32 " + std::string(to) + ", " + in + ";\n";
    case Element::kF16: return "  ld.global.b16 %h1, " + in + ";\n  cvt.f32.f16 " + to + ", %h1;\n";
    case Element::kBf16: break;
  }
  return "  ld.global.u16 %h1, " + in +
         ";\n  cvt.u32.u16 %r14, %h1;\n  shl.b32 %r14, %r14, 16;\n"
         "  mov.b32 " +
         std::string(to) + ", %r14;\n";
}

/// The bf16 nearest to %f5, of two the even one; NaN stays NaN. Devices before 8.0 have no
/// instruction for it.
constexpr std::string_view kRoundToBf16 = R"(  mov.b32 %r14, %f5;
  shr.u32 %r15, %r14, 16;
  and.b32 %r15, %r15, 1;
  add.u32 %r15, %r15, 32767;
  add.u32 %r15, %r14, %r15;
  shr.u32 %r15, %r15, 16;
  setp.nan.f32 %p3, %f5, %f5;
  selp.b32 %r15, 32767, %r15, %p3;
  cvt.u16.u32 %h1, %r15;
  st.global.u16 [%rd16], %h1;
)";

std::string store(Element element) {
  switch (element) {
    case Element::kF32: return "  st.global.f32 [%rd16], %f5;\n";
    case Element::kF16: return "  cvt.rn.f16.f32 %h1, %f5;\n  st.global.b16 [%rd16], %h1;\n";
    case Element::kBf16: break;
  }
  return std::string(kRoundToBf16);
}

/// Adds an element of the bias, which lies row behind row, to %f5.
std::string add_bias(Element element) {
  const char* const shift = element == Element::kF32 ? "2" : "1";
  return std::string(
             "BIAS:\n  ld.param.u64 %rd17, [bias];\n  setp.eq.u64 %p2, %rd17, 0;\n"
             "  @%p2 bra ACTIVATION;\n  shl.b64 %rd9, %rd4, ") +
         shift + ";\n  add.u64 %rd17, %rd17, %rd9;\n" + load(element, "%f7", "%rd17") +
         "  add.rn.f32 %f5, %f5, %f7;\n";
}

/// NaN stays NaN in both. x / (1 + exp(-2u)) is x (1 + tanh(u)) / 2, with
/// u = sqrt(2 / pi) x (1 + 0.044715 x^2); the last factor is -2 sqrt(2 / pi) / ln 2.
constexpr std::string_view kActivation = R"(ACTIVATION:
  ld.param.u32 %r16, [activation];
  setp.eq.u32 %p2, %r16, 0;
  @%p2 bra STORE;
  setp.eq.u32 %p2, %r16, 2;
  @%p2 bra GELU;
  setp.lt.f32 %p2, %f5, 0f00000000;
  selp.f32 %f5, 0f00000000, %f5, %p2;
  bra STORE;
GELU:
  mul.rn.f32 %f7, %f5, %f5;
  fma.rn.f32 %f7, %f7, 0f3D372713, 0f3F800000;
  mul.rn.f32 %f7, %f7, %f5;
  mul.rn.f32 %f7, %f7, 0fC0135761;
  ex2.approx.f32 %f7, %f7;
  add.rn.f32 %f7, %f7, 0f3F800000;
  div.rn.f32 %f5, %f5, %f7;
STORE:
)";

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
      "  add.u64 %rd2, %rd2, %rd15;\n  add.u32 %r13, %r13, 1;\n  bra LOOP;\nSUM:\n"
      "  ld.param.f32 %f4, [alpha];\n  mul.rn.f32 %f5, %f4, %f1;\n  ld.param.f32 %f6, [beta];\n"
      "  setp.eq.f32 %p2, %f6, 0f00000000;\n  @%p2 bra BIAS;\n";
  text += load(kind.result, "%f7", "%rd3");
  text += "  fma.rn.f32 %f5, %f6, %f7, %f5;\n";
  text += add_bias(kind.result);
  text += kActivation;
  text += store(kind.result);
  return text + "DONE:\n  ret;\n}\n";
}

template <typename T>
void append(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// As nvcc lays it out: a header, then the head of the only entry, then its text.
std::string fatbin_of(std::string text) {
  constexpr std::uint32_t kEntryBytes = 64;
  text.resize((text.size() + 8) / 8 * 8);  // with a NUL
  std::string entry;
  append<std::uint16_t>(entry, 1);       // PTX
  append<std::uint16_t>(entry, 0x0101);  // version
  append<std::uint32_t>(entry, kEntryBytes);
  append<std::uint64_t>(entry, text.size());
  append<std::uint64_t>(entry, 0);
  append<std::uint16_t>(entry, 8);  // of PTX 7.8
  append<std::uint16_t>(entry, 7);
  append<std::uint32_t>(entry, 75);  // compute_75
  append<std::uint64_t>(entry, 0);
  append<std::uint64_t>(entry, 0x11);  // for Linux, addresses of 64 bits
  entry.resize(kEntryBytes);
  std::string fatbin;
  append(fatbin, cuda::FatbinHeader{.magic = cuda::kFatbinMagic,
                                    .version = 1,
                                    .header_bytes = cuda::kFatbinHeaderBytes,
                                    .bytes = entry.size() + text.size()});
  return fatbin + entry + text;
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
    std::string text(kHeader);
    for (const KernelKind& kind : kKinds) text += kernel(kind);
    return new std::string(fatbin_of(std::move(text)));
  }();
  return *kFatbin;
}

}  // namespace sluice::guest::blas
