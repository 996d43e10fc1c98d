#include "plugin/generate/text/rows.h"

#include <algorithm>

namespace sluice::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kMostLanes = 512;  // leaves a thread 128 registers
// Elements that a thread may keep, and that it should have at most where a row has more threads.
constexpr int kMostKept = 64, kManyElements = 32;
// Threads that keep a large device busy, and its multiprocessors, about.
constexpr std::int64_t kEnoughThreads = 32768, kMultiprocessors = 128;

std::string number(std::int64_t value) { return std::to_string(value); }

int runs_of(std::int64_t num_runs, int lanes) {
  return static_cast<int>((num_runs + lanes - 1) / lanes);
}

/// Threads of a row that has `num_runs` runs of `run` elements.
int choose_lanes(std::int64_t count, std::int64_t num_runs, int run) {
  const int few_runs = run == 1 ? 8 : 4;
  int lanes = 1;
  const auto has_work_for_more = [&] {
    return runs_of(num_runs, lanes) > few_runs || count * lanes < kEnoughThreads;
  };
  while (lanes < kWarp && lanes < num_runs && has_work_for_more()) lanes *= 2;
  while (lanes >= kWarp && lanes < kMostLanes) {
    const std::int64_t runs = runs_of(num_runs, lanes);
    const bool is_alone = count * lanes < kEnoughThreads && runs > few_runs;
    if (runs * run <= kManyElements && !is_alone) break;
    lanes *= 2;
  }
  return lanes;
}

void choose_rows_per_block(RowPlan* plan) {
  plan->rows = plan->lanes > kWarp ? 1 : 128 / plan->lanes;
  const int least = std::max(kWarp / plan->lanes, 1);
  while (plan->rows > least && plan->count / plan->rows < kMultiprocessors) plan->rows /= 2;
}

}  // namespace

RowPlan plan_rows(std::int64_t count, std::int64_t size, int run) {
  RowPlan plan = {.count = count, .size = size, .run = run};
  const std::int64_t num_runs = size / run;
  plan.lanes = choose_lanes(count, num_runs, run);
  if (num_runs > std::int64_t{plan.lanes} * kMostKept / run && plan.lanes == kMostLanes) {
    plan.lanes *= 2;
  }
  plan.runs = runs_of(num_runs, plan.lanes);
  plan.is_kept = std::int64_t{plan.runs} * run <= kMostKept && plan.lanes <= kMostLanes;
  choose_rows_per_block(&plan);
  return plan;
}

RowPlan plan_columns(std::int64_t count, std::int64_t size) {
  RowPlan plan = {.count = count, .size = size, .runs = runs_of(size, 1)};
  plan.is_kept = size <= kManyElements;
  choose_rows_per_block(&plan);
  return plan;
}

std::string row_function(const std::string& name, const std::string& combine, int lanes) {
  std::string text = "static __device__ __forceinline__ float " + name + "(float a) {\n";
  if (lanes > 1) {
    text += "#pragma unroll\n  for (int distance = " + number(std::min(lanes, kWarp) / 2) +
            "; distance > 0; distance /= 2) {\n"
            "    const float b = __shfl_xor_sync(0xffffffffu, a, distance);\n    a = " +
            combine + ";\n  }\n";
  }
  if (lanes > kWarp) {
    const std::string warps = number(lanes / kWarp);
    text += "  __shared__ float parts[" + warps +
            "];\n  __syncthreads();  // everybody has read the parts of a call before\n"
            "  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = a;\n  __syncthreads();\n"
            "  a = parts[0];\n#pragma unroll\n  for (int warp = 1; warp < " +
            warps + "; ++warp) {\n    const float b = parts[warp];\n    a = " + combine +
            ";\n  }\n";
  }
  return text + "  return a;\n}\n\n";
}

std::string row_constants(const RowPlan& plan) {
  return "constexpr int kRuns = " + number(plan.runs) + ", kLanes = " + number(plan.lanes) +
         ";\nconstexpr Index kSize = " + number(plan.size) + ";\n";
}

std::string find_shared_row(const RowPlan& plan) {
  const std::string place = "Index(blockIdx.x) * " + number(plan.rows) + " + threadIdx.y;\n";
  const std::string count = number(plan.count);
  if (plan.lanes >= kWarp) {
    return "  const Index row = " + place + "  if (row >= " + count + ") return;\n";
  }
  return "  const Index own_row = " + place + "  const Index row = own_row < " + count +
         " ? own_row : " + number(plan.count - 1) + ";\n";
}

std::string leave_rows(const RowPlan& plan) {
  return plan.lanes >= kWarp ? "" : "  if (own_row != row) return;\n";
}

std::string each_run(const RowPlan& plan, const std::string& statements) {
  const bool is_even = std::int64_t{plan.lanes} * plan.run * plan.runs == plan.size;
  return std::string(plan.is_kept ? "#pragma unroll\n" : "#pragma unroll 4\n") +
         "  for (int r = 0; r < kRuns; ++r) {\n"
         "  const Index p = (Index(r) * kLanes + threadIdx.x) * kRun;\n" +
         (is_even ? "" : "  if (p < kSize) {\n") + statements + (is_even ? "" : "  }\n") + "  }\n";
}

std::string value_in_row(const RowPlan& plan) {
  return plan.is_kept ? "v[r][j]" : "float(own.at[j])";
}

std::string read_in_row(const RowPlan& plan, const std::string& address) {
  return plan.is_kept ? "" : "  const auto own = load_run<kRun>(" + address + ");\n";
}

std::string each_element(const RowPlan& plan, const std::string& address,
                         const std::string& statements) {
  return each_run(plan, read_in_row(plan, address) +
                            "#pragma unroll\n  for (int j = 0; j < kRun; ++j) {\n" + statements +
                            "  }\n");
}

std::string keep_row(const RowPlan& plan, const std::string& address) {
  if (!plan.is_kept) return "";
  return "  float v[kRuns][kRun];\n" +
         each_run(plan, "  const auto own = load_run<kRun>(" + address +
                            ");\n#pragma unroll\n  for (int j = 0; j < kRun; ++j) v[r][j] = "
                            "own.at[j];\n");
}

bool set_grid(const RowPlan& plan, Source* source) {
  source->block = {static_cast<unsigned>(plan.lanes), static_cast<unsigned>(plan.rows), 1};
  return set_grid(plan.count, plan.rows, source);
}

}  // namespace sluice::cuda
