#include "ops/matrix/stacks/matrix_vector.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "core/divide.h"
#include "kernels/matrix/dot_rows.h"
#include "ops/matrix/stacks/stacks.h"

namespace sluice::cpu {
namespace {

class MatrixVector : public Kernel {
 public:
  MatrixVector(const sluice_op& op, MatrixStacks stacks, Isa isa)
      : Kernel(op),
        s_(std::move(stacks)),
        items_(s_.items()),
        blocks_(divide_up(s_.m, kRows)),
        dot_rows_(SLUICE_CPU_PICK(isa, dot_rows)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const Share share = share_of(items_ * blocks_, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t item = i / blocks_;
      const std::int64_t row = i % blocks_ * kRows;
      dot_rows_(run.input<float>(0) + (s_.matrix_of(s_.a_strides, item) * s_.m + row) * s_.k,
                std::min(kRows, s_.m - row), s_.k,
                run.input<float>(1) + s_.matrix_of(s_.b_strides, item) * s_.k,
                run.output<float>(0) + item * s_.m + row);
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {s_.matrices(s_.a_strides), s_.m, s_.k, sizeof(float)});
    extents.reads(1, {s_.matrices(s_.b_strides), s_.k, sizeof(float)});
    extents.writes(0, {items_, s_.m, sizeof(float)});
  }
  double cost_ns() const override {
    return static_cast<double>(items_ * s_.m) * (5 + static_cast<double>(s_.k) * 0.06);
  }

 private:
  static constexpr std::int64_t kRows = 64;

  MatrixStacks s_;
  std::int64_t items_, blocks_;
  decltype(&portable::dot_rows) dot_rows_;
};

}  // namespace

bool is_matrix_by_vector(const sluice_op& op) {
  const sluice_tensor& b = op.inputs[1].tensor;
  return std::string_view(op.kind) == "MatMul" && op.body == nullptr &&
         op.inputs[1].is_constant == 0 && op.inputs[1].packed == nullptr &&
         b.dims[b.rank - 1] == 1 && plugin::num_elements(op.outputs[0].tensor) > 0 &&
         b.dims[b.rank - 2] > 0;
}

Status make_matrix_by_vector(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  MatrixStacks stacks;
  if (Status status = read_stacks(op, &stacks); !status.is_ok()) return status;
  *kernel = std::make_unique<MatrixVector>(op, std::move(stacks), isa);
  return plugin::ok();
}

}  // namespace sluice::cpu
