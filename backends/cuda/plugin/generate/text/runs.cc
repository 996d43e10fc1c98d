#include "plugin/generate/text/runs.h"

#include <algorithm>

#include "plugin/generate/text/body.h"
#include "plugin/generate/text/types.h"

namespace sluice::cuda {
namespace {

// Threads that keep the memory of a large device busy with a load of 16 bytes each, about.
constexpr std::int64_t kEnoughThreads = 16384;

std::int64_t bytes_of(const sluice_tensor& tensor) {
  return std::max<std::int64_t>(plugin::element_bits(tensor.element_type) / 8, 1);
}

}  // namespace

const char* const kRunsText = R"(
template <typename E, int kCount>
struct alignas(sizeof(E) * kCount < 16 ? sizeof(E) * kCount : 16) Run {
  E at[kCount];
};
template <int kCount, typename E>
static __device__ __forceinline__ Run<E, kCount> load_run(const E* from) {
  return *reinterpret_cast<const Run<E, kCount>*>(from);
}
)";

std::string run_functions(const sluice_op& op, int run) {
  return std::string(kRunsText) + "constexpr int kRun = " + std::to_string(run) + ";\ntypedef " +
         std::string(type_name(op.outputs[0].tensor.element_type)) + " Result;\n";
}

Along along_run(Dims operand, Dims dims, int run) {
  const std::vector<Axis> axes = stretched_axes(operand, dims);
  if (axes.empty()) return Along::kSame;
  const Axis& inner = axes.back();
  if (inner.extent % run != 0 || inner.stride > 1) return Along::kMixed;
  return inner.stride == 0 ? Along::kSame : Along::kRun;
}

int longest_run(std::int64_t unbroken, int most) {
  while (most > 1 && unbroken % most != 0) most /= 2;
  return most;
}

int widest_run(std::int64_t element_bytes) {
  return static_cast<int>(std::clamp<std::int64_t>(16 / element_bytes, 1, 8));
}

int choose_run(const sluice_op& op, std::int64_t unbroken) {
  const std::int64_t count = plugin::num_elements(op.outputs[0].tensor);
  std::int64_t narrowest = bytes_of(op.outputs[0].tensor);
  std::int64_t widest = narrowest;
  const auto operands = {plugin::inputs_of(op), plugin::body_inputs_of(op)};
  for (const auto& list : operands) {
    for (const sluice_operand& operand : list) {
      if (plugin::num_elements(operand.tensor) != count) continue;
      narrowest = std::min(narrowest, bytes_of(operand.tensor));
      widest = std::max(widest, bytes_of(operand.tensor));
    }
  }
  // Two loads of a lane, side by side, would each touch all sectors of the warp's.
  int run = longest_run(unbroken, widest_run(widest));
  while (run > 1 && count / run < kEnoughThreads && run * narrowest > 4) run /= 2;
  return run;
}

std::string RunReader::keep(const std::string& name, const std::string& type,
                            const std::string& value) {
  if (!keeps_) {
    loads_ += "  const " + type + " v_" + name + " = " + value + ";\n";
    return "v_" + name;
  }
  declarations_ += "  " + type + " v_" + name + "[kRuns];\n";
  loads_ += "  v_" + name + "[r] = " + value + ";\n";
  return "v_" + name + "[r]";
}

std::string RunReader::read(const std::string& name, const sluice_tensor& tensor) {
  const Dims dims = plugin::dims_of(tensor);
  const std::string type(type_name(tensor.element_type));
  const std::string at = broadcast_index("i", dims, dims_);
  if (run_ == 1) return name + "[" + at + "]";
  switch (along_run(dims, dims_, run_)) {
    case Along::kSame: return keep(name, type, name + "[" + at + "]");
    case Along::kRun:
      return keep(name, "Run<" + type + ", " + name_ + ">",
                  "load_run<" + name_ + ">(" + name + " + " + at + ")") +
             ".at[j]";
    case Along::kMixed: break;
  }
  return name + "[" + broadcast_index("(i + j)", dims, dims_) + "]";
}

std::string store_run(const sluice_op& op, const std::string& value, RunReader* reader) {
  const auto read = [&](int i) {
    return reader->read("x" + std::to_string(op.num_inputs + i), op.body_inputs[i].tensor);
  };
  std::string result;
  const std::string body = apply_body(op, value, "(i + j)", read, &result);
  return "  Run<Result, kRun> out;\n#pragma unroll\n  for (int j = 0; j < kRun; ++j) {\n" + body +
         "  out.at[j] = " + result +
         ";\n  }\n  *reinterpret_cast<Run<Result, kRun>*>(y + i) = out;\n";
}

std::string find_run(unsigned threads, std::int64_t num_elements) {
  return "  const Index i = (Index(blockIdx.x) * " + std::to_string(threads) +
         " + threadIdx.x) * kRun;\n  if (i >= " + std::to_string(num_elements) + ") return;\n";
}

Status write_run_kernel(const sluice_op& op, Parameters parameters, const RunKernel& kernel,
                        RunReader* reader, Source* source) {
  const std::int64_t count = plugin::num_elements(op.outputs[0].tensor);
  // Few elements are better spread over all multiprocessors.
  const unsigned threads = count / kernel.run < 4 * kEnoughThreads ? 128 : 256;
  add_body_inputs(op, &parameters);
  const std::string store = store_run(op, kernel.value, reader);
  source->text =
      constants_text(op) +
      kernel_head(parameters, std::max(count, kernel.largest), run_functions(op, kernel.run)) +
      find_run(threads, count) + kernel.statements + reader->loads() + store + "}\n";
  source->block = {threads, 1, 1};
  source->operands = parameters.operands();
  source->reports_indices = parameters.reports_indices();
  return set_grid(count / kernel.run, threads, source) ? plugin::ok() : too_large(op);
}

Status write_run_kernel(const sluice_op& op, Parameters parameters, const RunKernel& kernel,
                        Source* source) {
  RunReader reader(op, kernel.run);
  return write_run_kernel(op, std::move(parameters), kernel, &reader, source);
}

}  // namespace sluice::cuda
