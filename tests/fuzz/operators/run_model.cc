#include "fuzz/operators/run_model.h"

#include <cstring>
#include <utility>

#include "compile/compile.h"
#include "exec/loaded_model.h"
#include "fuzz/operators/values.h"
#include "ops/inference.h"

namespace sluice::fuzz {
namespace {

constexpr std::int64_t kMaxRunBytes = std::int64_t{64} << 20;

Status set_inputs(const Prepared& prepared, exec::Context& context, Random& random,
                  GuardedMemory& memory) {
  const ir::Subgraph& main = prepared.graph.main();
  for (std::size_t i = 0; i < main.inputs.size(); ++i) {
    const ir::Constant& contents = prepared.contents.at(main.inputs[i]);
    const auto bytes = static_cast<std::int64_t>(contents.data.size());
    if (bytes > GuardedMemory::kMaxBytes) return invalid_argument("a large input");
    void* data = memory.place(bytes, !random.once_in(3));
    if (bytes > 0) std::memcpy(data, contents.data.data(), contents.data.size());
    SLUICE_TRY(
        context.set_input(i, {data, bytes, contents.type.element(), *contents.type.static_dims()}));
  }
  return ok_status();
}

Status bind_outputs(const exec::LoadedModel& model, exec::Context& context, Random& random,
                    GuardedMemory& memory) {
  const auto& outputs = model.signature().outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto bytes = ir::run_bytes(outputs[i].type);
    const bool is_text = outputs[i].type.element() == ir::ElementType::kString;
    if (!bytes || *bytes > GuardedMemory::kMaxBytes || is_text) continue;
    SLUICE_TRY(context.bind_output(i, memory.place(*bytes, !random.once_in(3)), *bytes));
  }
  return ok_status();
}

Status run_loaded(const Prepared& prepared, const backend::BackendRegistry& backends,
                  const std::string& backend, GuardedMemory& memory) {
  Random random(prepared.seed);
  compile::CompileOptions options;
  options.backends = {backend};
  options.optimize = !random.once_in(3);
  options.strassen_levels = random.once_in(8) ? 1 : 0;
  auto executable = SLUICE_TRY(compile::compile(prepared.graph, backends, options));
  exec::LoadOptions load;
  load.num_threads = 1;
  load.max_arena_bytes = kMaxRunBytes;
  load.max_memory_bytes = kMaxRunBytes;
  load.max_loop_iterations = 100;
  const auto model = SLUICE_TRY(exec::LoadedModel::load(std::move(executable), backends, load));
  auto context = SLUICE_TRY(model.create_context());
  SLUICE_TRY(set_inputs(prepared, context, random, memory));
  SLUICE_TRY(bind_outputs(model, context, random, memory));
  return context.run();
}

/// Without outputs nothing would run.
void return_all_results(ir::Subgraph& main) {
  for (const ir::OperationId id : main.order()) {
    for (const ir::OperandId output : main.operation(id).outputs) {
      if (output.is_valid()) main.outputs.push_back(output);
    }
  }
}

}  // namespace

Status run_model(const Prepared& prepared, const backend::BackendRegistry& backends,
                 const std::string& backend, GuardedMemory& memory) {
  Prepared whole = prepared;
  std::vector<std::string> stale;
  SLUICE_TRY(ops::infer_types(whole.graph, &stale));
  return_all_results(whole.graph.main());
  const Status status = run_loaded(whole, backends, backend, memory);
  memory.check_and_reset();
  return status;
}

}  // namespace sluice::fuzz
