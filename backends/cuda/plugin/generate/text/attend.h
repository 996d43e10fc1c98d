// Attention of one query by a warp, which goes once over the keys, 32 at a time.
//
// A lane computes the score of one key; the weights then pass from lane to lane while each lane
// adds up its elements of the values. The largest score so far scales what was added before, so no
// line of scores is kept, however long the sequence is. The sums are those of a softmax up to
// rounding.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::cuda {

/// Elements of a value that the registers of a warp hold.
inline constexpr std::int64_t kMaxValueSize = 32 * 16;

/// Functions of device code that the statements below call, ahead of the kernel.
std::string attend_functions();

/// Statements that attend to the keys [begin, end), and leave `a`, the lane's elements of the
/// weighted values, `sum`, the sum of the weights, and `most`, the largest score.
/// `score(j, true)` gives the score of key j; `point_value` is a statement that makes `v` point at
/// the value of key `at`.
std::string attend_text(const std::string& begin, const std::string& end, std::int64_t value_size,
                        const std::string& point_value);

/// Statements that store `value`, an expression of `n` for `a[n]`, to `target`, an expression of
/// the element `d` of a value.
std::string store_attended(const std::string& target, std::int64_t value_size,
                           const std::string& value);

}  // namespace sluice::cuda
