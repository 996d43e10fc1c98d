#include "service/sequences/control_values.h"

#include <array>
#include <cstring>
#include <limits>
#include <string_view>

#include "ir/texts.h"
#include "terms/runtime_code.h"

namespace sluice::service {
namespace {

template <typename T>
Bytes bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return Bytes::own(std::move(bytes));
}

template <typename T>
Result<Bytes> number_bytes(const terms::SequencePart& part) {
  if (!part.is_number) {
    return terms::runtime_error(RuntimeCode::kBadInput,
                                "sequence_id \"{}\" is a text, and the model takes numbers",
                                part.id.substr(0, 64));
  }
  if (part.number > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) {
    return terms::runtime_error(RuntimeCode::kBadInput,
                                "sequence_id {} is over {}, the largest that the model takes",
                                part.number, std::numeric_limits<T>::max());
  }
  return bytes_of(static_cast<T>(part.number));
}

}  // namespace

Result<Bytes> flag_bytes(const terms::SequenceControl& control, bool value) {
  const double number = value ? control.true_value : control.false_value;
  switch (control.element) {
    case ir::ElementType::kI32: return bytes_of(static_cast<std::int32_t>(number));
    case ir::ElementType::kF32: return bytes_of(static_cast<float>(number));
    case ir::ElementType::kBool: return bytes_of(static_cast<std::uint8_t>(number != 0));
    default: break;
  }
  return unimplemented("a control is INT32, FP32 or BOOL");
}

Result<Bytes> id_bytes(const terms::SequenceControl& control, const terms::SequencePart& part) {
  switch (control.element) {
    case ir::ElementType::kU64: return number_bytes<std::uint64_t>(part);
    case ir::ElementType::kI64: return number_bytes<std::int64_t>(part);
    case ir::ElementType::kU32: return number_bytes<std::uint32_t>(part);
    case ir::ElementType::kI32: return number_bytes<std::int32_t>(part);
    default: break;
  }
  const std::array<std::string_view, 1> text = {part.id};
  return ir::pack_texts(text);
}

}  // namespace sluice::service
