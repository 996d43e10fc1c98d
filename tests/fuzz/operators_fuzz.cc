// One operation, as a graph in text: whatever its attributes, types and shapes, kernels refuse it
// or stay inside the memory that they are given. The custom mutator changes the graph, not the
// text.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "backend/registry.h"
#include "base/process/memory_limit.h"
#include "fuzz/operators/guarded_memory.h"
#include "fuzz/operators/mutate.h"
#include "fuzz/operators/prepare.h"
#include "fuzz/operators/run_kernels.h"
#include "fuzz/operators/run_model.h"
#include "ir/text/graph_text.h"

namespace {

using namespace sluice;  // NOLINT(google-build-using-namespace): a program of one file

// The registry and the targets are never destroyed, so that plug-ins stay loaded to the end: RE2,
// which they bring, keeps objects for the life of a process, and the leak check would not see who
// holds them once RE2 is unloaded.

const backend::BackendRegistry& registry() {
  static const auto& discovered = *new backend::BackendRegistry([] {
    limit_usable_memory(1 << 30);  // larger results are refused before there are kernels for them
    return backend::BackendRegistry::discover();
  }());
  return discovered;
}

template <typename T>
T expect(Result<T> result) {
  if (result.is_ok()) return *std::move(result);
  std::fprintf(stderr, "operators: %s\n", result.status().to_string().c_str());
  std::abort();
}

fuzz::Target make_target(std::shared_ptr<const backend::Backend> backend) {
  fuzz::Target target;
  const bool has_two = backend->devices()[0].num_cores > 1;
  target.one_core = expect(backend::Group::create(backend, 0, std::array<std::int32_t, 1>{0}));
  target.two_cores =
      has_two ? expect(backend::Group::create(backend, 0, std::array<std::int32_t, 2>{0, 1}))
              : target.one_core;
  target.backend = std::move(backend);
  return target;
}

/// The oracle, and the fast kernels of this machine and of any.
const std::vector<fuzz::Target>& targets() {
  static const auto& all = *new std::vector<fuzz::Target>([] {
    const auto cpu = expect(registry().find("cpu"));
    const auto portable = expect(backend::Backend::load(cpu->path(), {{"isa", "portable"}}));
    std::vector<fuzz::Target> made;
    made.push_back(make_target(expect(registry().find("reference"))));
    made.push_back(make_target(cpu));
    made.push_back(make_target(portable));
    return made;
  }());
  return all;
}

void run(const fuzz::Prepared& prepared) {
  static fuzz::GuardedMemory memory;
  const bool is_portable = prepared.seed % 3 == 0;
  for (const fuzz::Target& target : {targets()[0], targets()[is_portable ? 2 : 1]}) {
    static_cast<void>(fuzz::run_kernels(prepared, target, memory));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto prepared = fuzz::prepare(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!prepared.is_ok()) return 0;
  run(*prepared);
  static fuzz::GuardedMemory memory;
  if (prepared->seed % 4 == 0) {
    const char* backend = prepared->seed % 8 == 0 ? "reference" : "cpu";
    static_cast<void>(fuzz::run_model(*prepared, registry(), backend, memory));
  }
  fuzz::move_constants_to_inputs(*prepared);
  run(*prepared);
  return 0;
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  fuzz::Random random(seed);
  auto parsed = ir::parse_graph(std::string_view(reinterpret_cast<const char*>(data), size));
  ir::Graph graph =
      parsed.is_ok() && !random.once_in(50) ? *std::move(parsed) : fuzz::random_operation(random);
  for (std::int64_t i = random.below(4); i >= 0; --i) fuzz::mutate(graph, random);
  graph.compact();
  const std::string text = ir::print(graph);
  if (text.size() > max_size) return 0;
  std::ranges::copy(text, data);
  return text.size();
}
