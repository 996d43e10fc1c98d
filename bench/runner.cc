// What the model runner adds to a run of a context: medians of both, and the difference. Target:
// under 5 microseconds.
//
//   bench/runner MODEL.sluice [THREADS]
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "exec/loaded_model.h"
#include "package/package.h"
#include "runtime/request/request.h"
#include "session/inline_model.h"
#include "session/model_runner.h"

namespace sluice {
namespace {

constexpr int kRuns = 20'000;
constexpr int kRounds = 2;  // of both, in turn

/// Zeros for every input, symbolic dimensions as 1.
std::vector<terms::TensorView> make_inputs(const terms::Signature& signature,
                                           std::vector<MutableBytes>& memory) {
  std::vector<terms::TensorView> inputs;
  for (const terms::TensorSpec& spec : signature.inputs) {
    std::vector<std::int64_t> dims;
    for (const ir::Dim& dim : *spec.type.shape()) dims.push_back(dim.is_known() ? dim.value() : 1);
    const ir::Type type =
        ir::Type::tensor(spec.type.element(), ir::Shape(dims.begin(), dims.end()));
    const auto size_bytes = ir::storage_bytes(type).value_or(0);
    memory.emplace_back(static_cast<std::size_t>(size_bytes));
    inputs.push_back({memory.back().view().data(), size_bytes, spec.type.element(), dims});
  }
  return inputs;
}

template <typename Run>
void measure(std::vector<double>& times_us, Run&& run) {
  for (int i = 0; i < kRuns; ++i) {
    const std::int64_t start = system_clock().now_ns();
    run();
    times_us.push_back(static_cast<double>(system_clock().now_ns() - start) / 1e3);
  }
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

Status bench(const char* path, int num_threads) {
  exec::LoadOptions options;
  options.num_threads = num_threads;
  const auto backends = backend::BackendRegistry::discover();
  const auto model = SLUICE_TRY(
      exec::LoadedModel::load(SLUICE_TRY(package::read_package(path)), backends, options));
  std::vector<MutableBytes> memory;
  const auto inputs = make_inputs(model.signature(), memory);

  auto context = SLUICE_TRY(model.create_context());
  auto sink = SLUICE_TRY(session::InlineModel::create(model, 1, system_clock()));
  auto runner = SLUICE_TRY(session::ModelRunner::create({sink.get()}));
  Status status;
  const auto run_directly = [&] {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (status.is_ok()) status = context.set_input(i, inputs[i]);
    }
    if (status.is_ok()) status = context.run();
  };
  const auto run_through_runner = [&] {
    runtime::Request request;
    request.inputs = inputs;
    const runtime::Reply reply = runner->run(std::move(request));
    if (reply.code != RuntimeCode::kOk) status = reply.errors.to_status();
  };
  std::vector<double> direct_us;
  std::vector<double> runner_us;
  for (int i = 0; i < kRounds; ++i) {
    measure(direct_us, run_directly);
    measure(runner_us, run_through_runner);
  }
  SLUICE_TRY(std::move(status));
  const double direct = median(direct_us);
  const double through = median(runner_us);
  fmt::print("median of {} runs: direct {:.2f} us, model runner {:.2f} us, added {:.2f} us\n",
             kRounds * kRuns, direct, through, through - direct);
  return ok_status();
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: runner MODEL.sluice [THREADS]\n");
    return 2;
  }
  const sluice::Status status = sluice::bench(argv[1], argc > 2 ? std::atoi(argv[2]) : 1);
  if (!status.is_ok()) fmt::print(stderr, "{}\n", status.to_string());
  return status.is_ok() ? 0 : 1;
}
