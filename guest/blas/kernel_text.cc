#include "guest/blas/kernel_text.h"

#include <cstdint>
#include <string_view>

#include "driver/fatbin.h"

namespace sluice::guest::blas {
namespace {

template <typename T>
void append(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
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

}  // namespace

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

std::string end_of_kernel(Element result) {
  std::string text =
      "SUM:\n  ld.param.f32 %f4, [alpha];\n  mul.rn.f32 %f5, %f4, %f1;\n"
      "  ld.param.f32 %f6, [beta];\n"
      "  setp.eq.f32 %p2, %f6, 0f00000000;\n  @%p2 bra BIAS;\n";
  text += load(result, "%f7", "%rd3");
  text += "  fma.rn.f32 %f5, %f6, %f7, %f5;\n";
  text += add_bias(result);
  text += kActivation;
  text += store(result);
  return text + "DONE:\n  ret;\n}\n";
}

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

}  // namespace sluice::guest::blas
