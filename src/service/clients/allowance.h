// How often something may happen.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice {

struct Rate {
  std::int64_t burst = 0;
  std::int64_t per_second = 0;
};

/// A bucket of `burst` tokens that fills at the rate. Used by one thread.
class Allowance {
 public:
  Allowance(Rate rate, std::int64_t now_ns)
      : rate_(rate), credit_ns_(full_ns()), filled_ns_(now_ns) {}

  /// False if it happens too often.
  bool take(std::int64_t now_ns) {
    credit_ns_ = credit_at(now_ns);
    filled_ns_ = now_ns;
    if (credit_ns_ < cost_ns()) return false;
    credit_ns_ -= cost_ns();
    return true;
  }

  /// The allowance is whole again.
  bool is_full(std::int64_t now_ns) const { return credit_at(now_ns) == full_ns(); }

 private:
  std::int64_t credit_at(std::int64_t now_ns) const {
    return std::min(full_ns(), credit_ns_ + std::max<std::int64_t>(now_ns - filled_ns_, 0));
  }
  std::int64_t cost_ns() const { return 1'000'000'000 / rate_.per_second; }
  std::int64_t full_ns() const { return rate_.burst * cost_ns(); }

  Rate rate_;
  std::int64_t credit_ns_;  ///< the time that the tokens left took to come
  std::int64_t filled_ns_;
};

}  // namespace sluice
