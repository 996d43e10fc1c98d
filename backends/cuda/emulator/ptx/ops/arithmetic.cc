// add, sub, mul and their kind: the type decides who computes.
#include "emulator/ptx/ops/families.h"

namespace sluice::cuda::ptx {
namespace {

void decode_arithmetic(Decoder& decoder) {
  // The first type of the opcode decides; integers have a second one in mixed forms alone.
  Decoder look = decoder;
  const std::string_view name = decoder.family();
  if (look.take("cc") || name == "addc" || name == "subc" || name == "madc")
    return decode_carry(decoder);
  const Type type = look.need_type();
  switch (type) {
    case Type::kF32:
    case Type::kF64: return decode_float(decoder, decoder.need_type());
    case Type::kF16:
    case Type::kF16x2:
    case Type::kBf16:
    case Type::kBf16x2: return decode_half(decoder, decoder.need_type());
    default: return decode_integer(decoder);
  }
}

}  // namespace

void add_arithmetic(Opcodes* opcodes) {
  for (const std::string_view family :
       {"add", "sub", "mul", "mad", "fma", "div", "rem", "min", "max", "abs", "neg", "mul24",
        "mad24", "sad", "addc", "subc", "madc", "dp4a", "dp2a"}) {
    opcodes->emplace(family, decode_arithmetic);
  }
}

}  // namespace sluice::cuda::ptx
