// Elements of tensors as numbers, for tests.
#pragma once

#include <cstddef>
#include <vector>

#include "sluice/backend.hpp"

namespace sluice::cuda::testing {

/// The elements of a tensor of f32, f16, bf16, bool or i8 as floats, and back; floats also as u8,
/// i64, u4 and i4.
std::vector<std::byte> encode(sluice_element_type type, const std::vector<float>& values);
std::vector<float> decode(sluice_element_type type, const std::vector<std::byte>& bytes);

/// Numbers in [-1, 1], others for each seed, as the type holds them.
std::vector<float> some_numbers(const sluice_tensor& tensor, unsigned seed);

}  // namespace sluice::cuda::testing
