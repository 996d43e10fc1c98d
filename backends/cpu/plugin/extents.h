#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "sluice/backend.hpp"

namespace sluice::cpu {

/// The memory that a kernel touches, told from the numbers it runs with and held against the sizes
/// of the operands that it was given.
///
/// A kernel whose numbers follow from something that shape inference does not read (an attribute of
/// another version, a wrong declaration in a file) touches more than it has. It is refused when it
/// is made, because no kernel is used before its extents are checked (Backend::make_kernel).
class Extents {
 public:
  using Factors = std::initializer_list<std::int64_t>;

  /// `op` outlives this.
  explicit Extents(const sluice_op& op) : op_(op) {}

  /// The first bytes of an input are read: the product of the factors, the size of an element among
  /// them. Inputs of the body follow the operator's, as in Run::input.
  void reads(int input, Factors bytes);
  /// Bytes from `begin` to `end` of an input are read. Either may be outside.
  void reads_between(int input, std::int64_t begin, std::int64_t end);
  /// All bytes of an output are written, which are as many as the product of the factors.
  void writes(int output, Factors bytes);

  /// Ok, or the first contradiction, naming the node.
  const plugin::Status& status() const { return status_; }

 private:
  void refuse(const char* verb, const char* what, int index, std::int64_t bytes,
              std::int64_t given);
  std::int64_t size_of_input(int input) const;

  const sluice_op& op_;
  plugin::Status status_;
};

/// The elements between the first and the last that a walk over `dims` reaches, with `strides` that
/// may be negative; relative to the element at the origin. Nothing for an empty walk.
struct Reach {
  std::int64_t lowest = 0;
  std::int64_t end = 0;  ///< one past the highest
};
Reach reach_of(std::span<const std::int64_t> dims, std::span<const std::int64_t> strides);

}  // namespace sluice::cpu
