// Integers that an operation takes as an input: axes, starts, indices.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugin/generate/text/text.h"

namespace sluice::cuda {

/// Ok if the input is there and has int32 or int64 elements in row-major order.
Status check_integers(const sluice_op& op, int input);

/// As check_integers for a constant. A kernel has no way to report a wrong value, so values that
/// can be wrong must be known when it is made.
Status check_constant_integers(const sluice_op& op, int input);

/// The elements of an input that is a constant; nullopt where only a run knows them.
/// Requires: check_integers was ok.
std::optional<std::vector<std::int64_t>> constant_integers(const sluice_op& op, int input);

/// A name under which `statements`, ahead of its use in a kernel, make the elements readable: those
/// of a constant as numbers in the text, others in the input's memory.
/// Requires: check_integers was ok.
std::string read_integers(const sluice_op& op, int input, Parameters* parameters,
                          std::string* statements);

/// Declares the array `name` of numbers.
std::string array_text(const std::string& name, std::span<const std::int64_t> values);

}  // namespace sluice::cuda
