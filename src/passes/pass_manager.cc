#include "passes/pass_manager.h"

#include <chrono>

#include "ir/verify.h"

namespace sluice::passes {
namespace {

// Builds with asserts verify the graph after each pass, which names the pass at fault.
#ifdef NDEBUG
constexpr bool kVerify = false;
#else
constexpr bool kVerify = true;
#endif

std::int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

Result<std::vector<PassReport>> run_passes(ir::Graph& graph, std::span<const Pass> passes,
                                           const PassContext& context) {
  std::vector<PassReport> reports;
  for (const Pass& pass : passes) {
    PassReport report;
    report.name = pass.name;
    report.operations_before = graph.main().num_operations();
    const std::string where = fmt::format("pass {}", pass.name);
    const std::int64_t start_ns = now_ns();
    report.num_rewrites = SLUICE_TRY(pass.run(graph, context).with_context(where));
    report.time_ns = now_ns() - start_ns;
    report.operations_after = graph.main().num_operations();
    if (kVerify) SLUICE_TRY(ir::verify(graph).with_context("after " + where));
    // A pass without a rewrite leaves the graph that the last one showed.
    if (context.observe && report.num_rewrites > 0) {
      SLUICE_TRY(context.observe(pass.name, graph));
    }
    reports.push_back(report);
  }
  return reports;
}

}  // namespace sluice::passes
