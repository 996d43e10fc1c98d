// What one rendering may cost: an endless loop or a text that doubles ends with an error.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace sluice::text::jinja {

/// Bounds time and memory together: every step costs some units, and every byte or element that is
/// made or looked at costs one or more. A conversation of a million characters takes some ten
/// million units. Used by one thread.
class Work {
 public:
  static constexpr std::size_t kMaxUnits = std::size_t{1} << 27U;
  static constexpr std::size_t kStepUnits = 32;
  /// Cost of an element of a list or dict, about its bytes.
  static constexpr std::size_t kElementUnits = 64;
  /// A text that a tokenizer would refuse is not made.
  static constexpr std::size_t kMaxTextBytes = std::size_t{1} << 24U;
  /// Expressions, statements and macros that are evaluated within each other. A level takes about a
  /// kilobyte of stack.
  static constexpr int kMaxDepth = 400;

  /// Fails: kResourceExhausted once all units are spent.
  Status spend(std::size_t units) {
    if (units <= left_) {
      left_ -= units;
      return ok_status();
    }
    left_ = 0;
    return make_error(Code::kResourceExhausted, "the template takes too many steps");
  }

  /// Before a text of so many bytes is made. Fails: kResourceExhausted.
  Status spend_text(std::size_t bytes) {
    SLUICE_TRY(check_text(bytes));
    return spend(bytes);
  }
  /// Checks a text that grows piece by piece, each of which is paid for.
  static Status check_text(std::size_t bytes) {
    if (bytes <= kMaxTextBytes) return ok_status();
    return make_error(Code::kResourceExhausted, "the template makes a text of more than {} bytes",
                      kMaxTextBytes);
  }

  /// Fails: kResourceExhausted where evaluation is too deep. Each success needs a `leave`.
  Status enter() {
    if (depth_ == kMaxDepth) {
      return make_error(Code::kResourceExhausted, "the template is nested too deep");
    }
    ++depth_;
    return ok_status();
  }
  void leave() { --depth_; }

 private:
  std::size_t left_ = kMaxUnits;
  int depth_ = 0;
};

}  // namespace sluice::text::jinja
