#include "emulator/ptx/code/types.h"

#include <iterator>

namespace sluice::cuda::ptx {
namespace {

struct Row {
  std::string_view name;
  std::size_t size;
};

// In the order of the enumerators.
constexpr Row kTypes[] = {
    {"", 0},    {"pred", 0},  {"b8", 1},   {"b16", 2},    {"b32", 4},  {"b64", 8}, {"u8", 1},
    {"u16", 2}, {"u32", 4},   {"u64", 8},  {"s8", 1},     {"s16", 2},  {"s32", 4}, {"s64", 8},
    {"f16", 2}, {"f16x2", 4}, {"bf16", 2}, {"bf16x2", 4}, {"tf32", 4}, {"f32", 4}, {"f64", 8}};

}  // namespace

Type parse_type(std::string_view word) {
  for (std::size_t i = 1; i < std::size(kTypes); ++i) {
    if (kTypes[i].name == word) return static_cast<Type>(i);
  }
  return Type::kNone;
}

std::string_view type_name(Type type) { return kTypes[static_cast<std::size_t>(type)].name; }

std::size_t size_of(Type type) { return kTypes[static_cast<std::size_t>(type)].size; }

bool is_signed(Type type) { return type >= Type::kS8 && type <= Type::kS64; }

bool is_float(Type type) { return type >= Type::kF16; }

}  // namespace sluice::cuda::ptx
