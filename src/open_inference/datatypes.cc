#include "open_inference/datatypes.h"

#include <algorithm>
#include <array>

namespace sluice::open_inference {
namespace {

using ir::ElementType;

struct Datatype {
  std::string_view name;
  ElementType type;
};

constexpr std::array kDatatypes = {
    Datatype{"BOOL", ElementType::kBool},    Datatype{"UINT8", ElementType::kU8},
    Datatype{"UINT16", ElementType::kU16},   Datatype{"UINT32", ElementType::kU32},
    Datatype{"UINT64", ElementType::kU64},   Datatype{"INT8", ElementType::kI8},
    Datatype{"INT16", ElementType::kI16},    Datatype{"INT32", ElementType::kI32},
    Datatype{"INT64", ElementType::kI64},    Datatype{"FP16", ElementType::kF16},
    Datatype{"FP32", ElementType::kF32},     Datatype{"FP64", ElementType::kF64},
    Datatype{"BYTES", ElementType::kString}, Datatype{"BF16", ElementType::kBf16},
};

}  // namespace

std::string_view datatype_name(ElementType type) {
  const auto* it = std::ranges::find(kDatatypes, type, &Datatype::type);
  return it == kDatatypes.end() ? std::string_view() : it->name;
}

std::string config_type(ElementType type) {
  if (type == ElementType::kString) return "TYPE_STRING";
  const std::string_view name = datatype_name(type);
  return name.empty() ? "TYPE_INVALID" : "TYPE_" + std::string(name);
}

std::optional<ElementType> find_datatype(std::string_view name) {
  const auto* it = std::ranges::find(kDatatypes, name, &Datatype::name);
  if (it == kDatatypes.end()) return std::nullopt;
  return it->type;
}

}  // namespace sluice::open_inference
