// A thread computes an element of the result: the sum over k in order, in f32, by fused steps.
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
  .param .u64 a, .param .u64 b, .param .u64 c,
  .param .u64 a_row, .param .u64 a_column, .param .u64 b_row, .param .u64 b_column,
  .param .u64 c_column, .param .u64 a_stride, .param .u64 b_stride, .param .u64 c_stride,
  .param .u32 m, .param .u32 n, .param .u32 k, .param .f32 alpha, .param .f32 beta)
{
  .reg .pred %p<4>;
  .reg .b16 %h<2>;
  .reg .b32 %r<20>;
  .reg .f32 %f<12>;
  .reg .b64 %rd<32>;
)";

/// Row %r4 and column %r8 of the result. %rd1 and %rd2 point at the first factors, %rd3 at the
/// column.
constexpr std::string_view kPlaces = R"(
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
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd7, [a_row];
  ld.param.u64 %rd8, [a_stride];
  mul.lo.u64 %rd9, %rd4, %rd7;
  add.u64 %rd1, %rd1, %rd9;
  mul.lo.u64 %rd9, %rd6, %rd8;
  add.u64 %rd1, %rd1, %rd9;
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd10, [b_column];
  ld.param.u64 %rd11, [b_stride];
  mul.lo.u64 %rd9, %rd5, %rd10;
  add.u64 %rd2, %rd2, %rd9;
  mul.lo.u64 %rd9, %rd6, %rd11;
  add.u64 %rd2, %rd2, %rd9;
  ld.param.u64 %rd3, [c];
  ld.param.u64 %rd12, [c_column];
  ld.param.u64 %rd13, [c_stride];
  mul.lo.u64 %rd9, %rd5, %rd12;
  add.u64 %rd3, %rd3, %rd9;
  mul.lo.u64 %rd9, %rd6, %rd13;
  add.u64 %rd3, %rd3, %rd9;
  ld.param.u64 %rd14, [a_column];
  ld.param.u64 %rd15, [b_row];
  mov.f32 %f1, 0f00000000;
  mov.u32 %r13, 0;
)";

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
  st.global.u16 [%rd3], %h1;
)";

/// Moves %rd3 from the column to the row within it.
std::string find_row(Element result) {
  const char* const shift = result == Element::kF32 ? "2" : "1";
  return std::string("  shl.b64 %rd9, %rd4, ") + shift + ";\n  add.u64 %rd3, %rd3, %rd9;\n";
}

std::string store(Element element) {
  switch (element) {
    case Element::kF32: return "  st.global.f32 [%rd3], %f5;\n";
    case Element::kF16: return "  cvt.rn.f16.f32 %h1, %f5;\n  st.global.b16 [%rd3], %h1;\n";
    case Element::kBf16: break;
  }
  return std::string(kRoundToBf16);
}

std::string kernel(const KernelKind& kind) {
  std::string text = std::string(".visible .entry ") + kind.name;
  text += kParameters;
  text += kPlaces;
  text += find_row(kind.result);
  text += "LOOP:\n  setp.ge.u32 %p1, %r13, %r11;\n  @%p1 bra SUM;\n";
  text += load(kind.factors, "%f2", "%rd1") + load(kind.factors, "%f3", "%rd2");
  text +=
      "  fma.rn.f32 %f1, %f2, %f3, %f1;\n  add.u64 %rd1, %rd1, %rd14;\n"
      "  add.u64 %rd2, %rd2, %rd15;\n  add.u32 %r13, %r13, 1;\n  bra LOOP;\nSUM:\n"
      "  ld.param.f32 %f4, [alpha];\n  mul.rn.f32 %f5, %f4, %f1;\n  ld.param.f32 %f6, [beta];\n"
      "  setp.eq.f32 %p2, %f6, 0f00000000;\n  @%p2 bra STORE;\n";
  text += load(kind.result, "%f7", "%rd3");
  text += "  fma.rn.f32 %f5, %f6, %f7, %f5;\nSTORE:\n";
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
