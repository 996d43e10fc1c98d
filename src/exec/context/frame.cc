#include "exec/context/frame.h"

#include <algorithm>
#include <cstdint>

#include "backend/memory.h"
#include "exec/subgraph_code.h"

namespace sluice::exec {

bool share_bytes(const void* a, std::int64_t a_bytes, const void* b, std::int64_t b_bytes) {
  const auto begin_a = reinterpret_cast<std::uintptr_t>(a);
  const auto begin_b = reinterpret_cast<std::uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && begin_a < begin_b + static_cast<std::uintptr_t>(b_bytes) &&
         begin_b < begin_a + static_cast<std::uintptr_t>(a_bytes);
}

Frame::Frame(const SubgraphCode& code_to_run, void* texts) : code(code_to_run) {
  const ir::Subgraph& subgraph = *code.subgraph;
  inputs.resize(subgraph.inputs.size());
  outputs.resize(subgraph.outputs.size());
  bindings.resize(code.numbers.num_fixed());
  bindings[static_cast<std::size_t>(code.numbers.texts())] = texts;
  bindings[static_cast<std::size_t>(code.numbers.random_state())] = &random;
  if (code.static_plan == nullptr) bindings.resize(bindings.size() + subgraph.num_operands());
  if (code.static_plan == nullptr) values.resize(subgraph.num_operands());
}

void Frame::set_input(std::size_t index, const terms::TensorView& tensor) {
  inputs[index] = tensor;  // reuses the memory of the dimensions
  bindings[index] = tensor.data;
}

void Frame::move_input(std::size_t index, void* data) {
  inputs[index].data = data;
  bindings[index] = data;
}

bool Frame::is_direct(std::size_t output, std::int64_t size_bytes,
                      std::span<const InPlaceOutput> in_place) const {
  const FrameOutput& to = outputs[output];
  if (to.bound == nullptr || !backend::is_aligned(to.bound) || to.capacity_bytes < size_bytes)
    return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!share_bytes(inputs[i].data, inputs[i].size_bytes, to.bound, size_bytes)) continue;
    const bool is_pair = std::ranges::find(in_place, InPlaceOutput{output, i}) != in_place.end();
    if (inputs[i].data != to.bound || !is_pair) return false;
  }
  return true;
}

std::int64_t Frame::memory_bytes() const {
  std::int64_t total = arena.size_bytes();
  for (const FrameOutput& output : outputs) total += output.own.size_bytes();
  for (const auto& [number, buffer] : kept) total += buffer.size_bytes();
  return total;
}

}  // namespace sluice::exec
