// Softmax, LogSoftmax, Hardmax.
#include "reference/kernels/nn/softmax.h"

#include <algorithm>
#include <cmath>

#include "reference/families.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

/// SoftmaxLines of `length` elements, `step` apart.
struct SoftmaxLines {
  std::size_t length = 1, step = 1;
};

/// Before version 13 softmax ran over all axes from `axis` on as one.
Status lines_of(const Call& call, SoftmaxLines* lines) {
  const Dims dims = input_dims(call, 0);
  const std::int64_t given = call.attributes().get_int("axis", -1);
  const bool is_flat = call.version() < 13;
  std::int64_t axis = wrap_axis(given, dims.size());
  if (is_flat && given == static_cast<std::int64_t>(dims.size())) axis = given;
  if (axis < 0) return refuse(call, "axis " + std::to_string(given) + " is outside the input");
  if (is_flat) {
    lines->length = index(size_of(dims.subspan(index(axis))));
  } else {
    lines->length = index(dims[index(axis)]);
    lines->step = index(size_of(dims.subspan(index(axis) + 1)));
  }
  return plugin::ok();
}

/// Applies `change` to a copy of each line.
template <typename Change>
Status run_lines(const Call& call, const Change& change) {
  SoftmaxLines lines;
  if (Status status = lines_of(call, &lines); !status.is_ok()) return status;
  std::vector<double> x = read_doubles(call.input(0));
  if (x.size() != index(size_of(input_dims(call, 0))))
    return refuse_model(call, "unknown element type");
  std::vector<double> line(lines.length);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i / lines.step % lines.length != 0) continue;  // not the first of its line
    for (std::size_t k = 0; k < lines.length; ++k) line[k] = x[i + k * lines.step];
    change(std::span<double>(line));
    for (std::size_t k = 0; k < lines.length; ++k) x[i + k * lines.step] = line[k];
  }
  return write_doubles(call, 0, x);
}

Status run_softmax(const Call& call) { return run_lines(call, softmax); }
Status run_log_softmax(const Call& call) { return run_lines(call, log_softmax); }

Status run_hardmax(const Call& call) {
  return run_lines(call, [](std::span<double> line) {
    const auto is_less = [](double a, double b) { return a < b || (std::isnan(b) && a == a); };
    const auto best = std::max_element(line.begin(), line.end(), is_less) - line.begin();
    std::fill(line.begin(), line.end(), 0.0);
    line[index(best)] = 1;
  });
}

}  // namespace

void log_softmax(std::span<double> line) {
  if (line.empty()) return;
  const double largest = *std::max_element(line.begin(), line.end());
  double sum = 0;
  for (const double value : line) sum += std::exp(value - largest);
  for (double& value : line) value = value - largest - std::log(sum);
}

void softmax(std::span<double> line) {
  if (line.empty()) return;
  const double largest = *std::max_element(line.begin(), line.end());
  double sum = 0;
  for (double& value : line) sum += value = std::exp(value - largest);
  for (double& value : line) value /= sum;
}

std::vector<KernelEntry> softmax_kernels() {
  return {{.kind = "Softmax", .run = run_softmax},
          {.kind = "LogSoftmax", .run = run_log_softmax},
          {.kind = "Hardmax", .run = run_hardmax}};
}

}  // namespace sluice::reference
