// A thread computes an element of the result: the sum over the channels of its group and the window
// in order, in f32, by fused steps. Elements of x in the padding are left out.
#include "guest/dnn/convolution_code.h"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "guest/blas/kernel_text.h"

namespace sluice::guest::dnn {
namespace {

using blas::Element;

constexpr std::string_view kDeclarations = R"((
  .param .u64 bias, .param .f32 alpha, .param .f32 beta, .param .u32 activation,
  .param .align 8 .b8 of[ARGUMENT_BYTES])
{
  .reg .pred %p<4>;
  .reg .b16 %h<2>;
  .reg .b32 %r<20>;
  .reg .f32 %f<12>;
  .reg .b64 %rd<32>;
  .reg .b64 %point, %item, %od, %oh, %ow, %c, %fd, %fh, %fw, %id, %ih, %iw;
  .reg .b64 %xc, %xd, %xh, %x, %wc, %wd, %wh, %w, %s, %t;
)";

/// Reads a word of ConvolutionArguments into a register.
std::string word(const char* to, std::size_t offset) {
  return "  ld.param.u64 " + std::string(to) + ", [of+" + std::to_string(offset) + "];\n";
}

#define SLUICE_WORD(to, member) word(to, offsetof(ConvolutionArguments, member))

/// Adds `index` times a word to a register.
std::string move(const std::string& address, const std::string& index, std::size_t step) {
  return word("%s", step) + "  mad.lo.s64 " + address + ", " + index + ", %s, " + address + ";\n";
}

#define SLUICE_MOVE(address, index, member) \
  move(address, index, offsetof(ConvolutionArguments, member))

/// %point, %rd4 (the output channel) and %item; the place along each axis of the output.
std::string find_point() {
  std::string text =
      "  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n  mov.u32 %r3, %tid.x;\n"
      "  cvt.u64.u32 %point, %r3;\n  mul.wide.u32 %t, %r1, %r2;\n"
      "  add.u64 %point, %point, %t;\n";
  text += SLUICE_WORD("%t", points);
  text +=
      "  setp.ge.u64 %p1, %point, %t;\n  @%p1 bra DONE;\n"
      "  mov.u32 %r4, %ctaid.y;\n  cvt.u64.u32 %rd4, %r4;\n"
      "  mov.u32 %r5, %ctaid.z;\n  cvt.u64.u32 %item, %r5;\n";
  text += SLUICE_WORD("%t", output.column);
  text += "  rem.u64 %ow, %point, %t;\n  div.u64 %oh, %point, %t;\n";
  text += SLUICE_WORD("%t", output.row);
  return text + "  div.u64 %od, %oh, %t;\n  rem.u64 %oh, %oh, %t;\n";
}

/// The addresses of the addend, the result, the group's first channel of x, and the weights.
std::string find_addresses() {
  std::string text;
  const auto find = [&text](const char* address, std::size_t base, std::size_t steps) {
    text += word(address, base);
    text += move(address, "%item", steps + offsetof(Steps, item));
    text += move(address, "%rd4", steps + offsetof(Steps, channel));
    text += move(address, "%od", steps + offsetof(Steps, depth));
    text += move(address, "%oh", steps + offsetof(Steps, row));
    text += move(address, "%ow", steps + offsetof(Steps, column));
  };
  find("%rd3", offsetof(ConvolutionArguments, z), offsetof(ConvolutionArguments, z_steps));
  find("%rd16", offsetof(ConvolutionArguments, y), offsetof(ConvolutionArguments, y_steps));
  text += SLUICE_WORD("%xc", x) + SLUICE_MOVE("%xc", "%item", x_steps.item);
  text += SLUICE_WORD("%t", group_outputs) + "  div.u64 %t, %rd4, %t;\n";
  text += SLUICE_WORD("%s", group_inputs) + "  mul.lo.u64 %t, %t, %s;\n";
  text += SLUICE_MOVE("%xc", "%t", x_steps.channel);
  text += SLUICE_WORD("%wc", weights) + SLUICE_MOVE("%wc", "%rd4", weight_steps.item);
  return text;
}

/// A loop along an axis of the window: over `at`, with the place `in` of x. `inner` runs where that
/// is inside of x, with the addresses `x` and `w`, which begin as those of the loop around.
struct Axis {
  const char* name;  ///< of labels
  std::string at, in, out;
  std::string x, x_around, w, w_around;
  std::size_t offset;  ///< of the axis in Extent
  std::size_t step;    ///< in Steps
};

std::string loop(const Axis& axis, const std::string& inner) {
  const auto extent = [&axis](const char* to, std::size_t of) {
    return word(to, of + axis.offset);
  };
  const std::string name = axis.name;
  std::string text = extent("%t", offsetof(ConvolutionArguments, stride));
  text += "  mul.lo.s64 " + axis.in + ", " + axis.out + ", %t;\n";
  text += extent("%t", offsetof(ConvolutionArguments, pad));
  text += "  sub.s64 " + axis.in + ", " + axis.in + ", %t;\n  mov.u64 " + axis.at + ", 0;\n";
  text += name + "_LOOP:\n" + extent("%t", offsetof(ConvolutionArguments, filter));
  text += "  setp.ge.u64 %p1, " + axis.at + ", %t;\n  @%p1 bra " + name + "_END;\n";
  text += extent("%t", offsetof(ConvolutionArguments, input));
  text += "  setp.ge.u64 %p1, " + axis.in + ", %t;\n  @%p1 bra " + name + "_NEXT;\n";
  text += "  mov.u64 " + axis.x + ", " + axis.x_around + ";\n  mov.u64 " + axis.w + ", " +
          axis.w_around + ";\n";
  text += move(axis.x, axis.in, offsetof(ConvolutionArguments, x_steps) + axis.step);
  text += move(axis.w, axis.at, offsetof(ConvolutionArguments, weight_steps) + axis.step);
  text += inner;
  text += name + "_NEXT:\n" + extent("%t", offsetof(ConvolutionArguments, dilation));
  text += "  add.s64 " + axis.in + ", " + axis.in + ", %t;\n  add.u64 " + axis.at + ", " + axis.at +
          ", 1;\n  bra " + name + "_LOOP;\n";
  return text + name + "_END:\n";
}

std::string sum(Element element) {
  std::string text = load(element, "%f2", "%x") + load(element, "%f3", "%w") +
                     "  fma.rn.f32 %f1, %f2, %f3, %f1;\n";
  text = loop({"COLUMN", "%fw", "%iw", "%ow", "%x", "%xh", "%w", "%wh", offsetof(Extent, column),
               offsetof(Steps, column)},
              text);
  text = loop({"ROW", "%fh", "%ih", "%oh", "%xh", "%xd", "%wh", "%wd", offsetof(Extent, row),
               offsetof(Steps, row)},
              text);
  text = loop({"DEPTH", "%fd", "%id", "%od", "%xd", "%xc", "%wd", "%wc", offsetof(Extent, depth),
               offsetof(Steps, depth)},
              text);
  return "  mov.f32 %f1, 0f00000000;\n  mov.u64 %c, 0;\nCHANNEL:\n" +
         SLUICE_WORD("%t", group_inputs) + "  setp.ge.u64 %p1, %c, %t;\n  @%p1 bra SUM;\n" + text +
         SLUICE_WORD("%s", x_steps.channel) + "  add.s64 %xc, %xc, %s;\n" +
         SLUICE_WORD("%s", weight_steps.channel) + "  add.s64 %wc, %wc, %s;\n" +
         "  add.u64 %c, %c, 1;\n  bra CHANNEL;\n";
}

#undef SLUICE_MOVE
#undef SLUICE_WORD

std::string kernel(Element element) {
  std::string text = std::string(".visible .entry ") + kernel_name(element);
  text += kDeclarations;
  constexpr std::string_view kBytes = "ARGUMENT_BYTES";
  text.replace(text.find(kBytes), kBytes.size(), std::to_string(sizeof(ConvolutionArguments)));
  text += find_point() + find_addresses() + sum(element);
  return text + blas::end_of_kernel(element);
}

}  // namespace

const char* kernel_name(Element element) {
  switch (element) {
    case Element::kF32: return "convolution_f32";
    case Element::kF16: return "convolution_f16";
    case Element::kBf16: break;
  }
  return "convolution_bf16";
}

const std::string& convolution_fatbin() {
  static const auto* const kFatbin = [] {
    std::string text(blas::kTextHeader);
    for (const Element element : {Element::kF32, Element::kF16, Element::kBf16}) {
      text += kernel(element);
    }
    return new std::string(blas::fatbin_of(std::move(text)));
  }();
  return *kFatbin;
}

}  // namespace sluice::guest::dnn
