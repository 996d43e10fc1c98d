// CouplePairs: Wu, Lin, Weng, "Probability estimates for multi-class classification by pairwise
// coupling", JMLR 5, 2004, algorithm 2.
#include <algorithm>
#include <cmath>

#include "reference/families.h"
#include "reference/kernels/support.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

/// The quadratic form p' Q p, whose least value over all p that sum to 1 is wanted.
///
/// With r(i, j) the probability of i among i and j: Q(i, i) is the sum of r(j, i)^2 over all other
/// j, and Q(i, j) = -r(j, i) r(i, j).
class Coupling {
 public:
  explicit Coupling(std::size_t classes)
      : count_(classes), form_(classes * classes), p_(classes), product_(classes) {}

  /// `pairs` has r(0, 1), r(0, 2), .., r(1, 2), .. Gives the classes' probabilities.
  std::span<const double> solve(std::span<const float> pairs) {
    read(pairs);
    std::ranges::fill(p_, 1 / static_cast<double>(count_));
    const double tolerance = 0.005 / static_cast<double>(count_);  // libsvm's
    const std::size_t max_rounds = std::max<std::size_t>(100, count_);
    for (std::size_t round = 0; round < max_rounds; ++round) {
      multiply();
      const auto is_off = [&](double entry) { return !(std::fabs(entry - value_) < tolerance); };
      if (std::ranges::none_of(product_, is_off)) break;
      for (std::size_t i = 0; i < count_; ++i) improve(i);
    }
    return p_;
  }

 private:
  double& form(std::size_t i, std::size_t j) { return form_[i * count_ + j]; }

  void read(std::span<const float> pairs) {
    constexpr double kLeast = 1e-7;
    std::ranges::fill(form_, 0);
    auto pair = pairs.begin();
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t j = i + 1; j < count_; ++j) {
        const double first = std::clamp(static_cast<double>(*pair++), kLeast, 1 - kLeast);
        const double second = 1 - first;
        form(i, i) += second * second;
        form(j, j) += first * first;
        form(i, j) = form(j, i) = -first * second;
      }
    }
  }

  /// Qp and p' Q p.
  void multiply() {
    value_ = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      product_[i] = 0;
      for (std::size_t j = 0; j < count_; ++j) product_[i] += form(i, j) * p_[j];
      value_ += p_[i] * product_[i];
    }
  }

  /// Makes the optimality condition of class i hold, then p sum to 1 again.
  void improve(std::size_t i) {
    const double step = (value_ - product_[i]) / form(i, i);
    const double sum = 1 + step;
    value_ = (value_ + step * (step * form(i, i) + 2 * product_[i])) / (sum * sum);
    p_[i] += step;
    for (std::size_t j = 0; j < count_; ++j) {
      product_[j] = (product_[j] + step * form(i, j)) / sum;
      p_[j] /= sum;
    }
  }

  std::size_t count_;
  std::vector<double> form_, p_, product_;
  double value_ = 0;
};

Status run_couple(const Call& call) {
  const std::int64_t classes = call.attributes().get_int("classes", 2);
  const Dims dims = input_dims(call, 0);
  constexpr std::int64_t kMostClasses = 1 << 20;  // their pairs stay far from overflow
  const std::int64_t pairs = classes > kMostClasses ? -1 : classes * (classes - 1) / 2;
  if (classes < 2 || dims.size() != 2 || dims[1] != pairs) {
    return refuse(call, "X must have a column per pair of classes");
  }
  const std::int64_t expected[] = {dims[0], classes};
  if (Status status = expect_dims(call, 0, expected); !status.is_ok()) return status;
  const auto x = call.input_elements<float>(0);
  auto* y = call.output_elements<float>(0).data();
  Coupling coupling(index(classes));
  for (std::int64_t row = 0; row < dims[0]; ++row) {
    for (const double p : coupling.solve(x.subspan(index(row * pairs), index(pairs)))) {
      *y++ = static_cast<float>(p);
    }
  }
  return plugin::ok();
}

Status check_couple(const sluice_op& op) { return check_type(op, 0, Types<float>()); }

}  // namespace

std::vector<KernelEntry> couple_kernels() {
  return {{.domain = "sluice",
           .kind = "CouplePairs",
           .run = run_couple,
           .check = check_couple,
           .output_types = {plugin::kF32}}};
}

}  // namespace sluice::reference
