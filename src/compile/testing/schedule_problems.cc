#include "compile/testing/schedule_problems.h"

#include <algorithm>
#include <random>

#include "compile/schedule/makespan.h"

namespace sluice::compile::testing {
namespace {

constexpr double kUs = 1e3;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// Adds tasks one by one. Costs are those of a device of speed 1.
class GraphBuilder {
 public:
  explicit GraphBuilder(const NamedMachine& machine) : machine_(machine) {
    problem_.devices = machine.devices;
    problem_.transfers = machine.transfers;
    problem_.is_sequential = false;
  }

  int input(std::int64_t bytes) {
    problem_.tensors.push_back({-1, bytes, false});
    return static_cast<int>(problem_.tensors.size()) - 1;
  }

  int task(const std::vector<int>& reads, double us, std::int64_t bytes, std::int64_t weights = 0) {
    const int index = static_cast<int>(problem_.tasks.size());
    problem_.tensors.push_back({index, bytes, false});
    const int result = static_cast<int>(problem_.tensors.size()) - 1;
    Task added = {{}, reads, {result}, weights};
    for (const double speed : machine_.speed) added.cost_ns.push_back(us * kUs / speed);
    problem_.tasks.push_back(std::move(added));
    return result;
  }

  ScheduleProblem finish(int result) {
    problem_.tensors[static_cast<std::size_t>(result)].is_result = true;
    return std::move(problem_);
  }

  int chain(int from, int length, double us, std::int64_t bytes, std::int64_t weights) {
    for (int i = 0; i < length; ++i) from = task({from}, us, bytes, weights);
    return from;
  }

 private:
  const NamedMachine& machine_;
  ScheduleProblem problem_;
};

/// Four branches of different lengths that join: what a scheduler may run side by side.
int inception_block(GraphBuilder& graph, int x) {
  const int a = graph.task({x}, 60, kMiB / 2, kMiB);
  const int b = graph.chain(x, 2, 80, kMiB / 2, kMiB);
  const int c = graph.chain(x, 3, 90, kMiB / 2, kMiB);
  const int d = graph.chain(x, 2, 40, kMiB / 2, kMiB / 4);
  return graph.task({a, b, c, d}, 10, kMiB * 2);
}

/// Three products side by side, then a chain that leaves nothing to run beside it.
int transformer_block(GraphBuilder& graph, int x) {
  const int q = graph.task({x}, 100, kMiB, kMiB * 2);
  const int k = graph.task({x}, 100, kMiB, kMiB * 2);
  const int v = graph.task({x}, 100, kMiB, kMiB * 2);
  const int scores = graph.task({q, k}, 70, kMiB * 3);
  const int attended = graph.task({scores, v}, 70, kMiB);
  const int sum = graph.task({graph.task({attended}, 100, kMiB, kMiB * 2), x}, 10, kMiB);
  const int wide = graph.task({sum}, 400, kMiB * 4, kMiB * 8);
  return graph.task({graph.task({wide}, 400, kMiB, kMiB * 8), sum}, 10, kMiB);
}

ScheduleProblem random_layers(const NamedMachine& machine, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  GraphBuilder graph(machine);
  std::vector<int> layer = {graph.input(kMiB / 2)};
  for (int depth = 0; depth < 12; ++depth) {
    std::vector<int> next;
    for (int i = draw(1, 5); i > 0; --i) {
      std::vector<int> reads = {
          layer[static_cast<std::size_t>(draw(0, static_cast<int>(layer.size()) - 1))]};
      if (draw(0, 1) == 1) reads.push_back(layer.front());
      if (reads.size() == 2 && reads[0] == reads[1]) reads.pop_back();
      next.push_back(graph.task(reads, draw(10, 400), draw(1, 2048) * 1024, draw(0, 4) * kMiB));
    }
    layer = std::move(next);
  }
  return graph.finish(graph.task(layer, 10, 4096));
}

/// Skips from each level down to the same level up hold tensors for long: a test of memory.
ScheduleProblem encoder_decoder(GraphBuilder graph) {
  std::vector<int> skips;
  int x = graph.input(kMiB);
  for (int level = 0; level < 4; ++level) {
    x = graph.chain(x, 2, 150 / (level + 1.0), (kMiB * 4) >> level, kMiB << level);
    skips.push_back(x);
  }
  for (int level = 3; level >= 0; --level) {
    x = graph.task({x, skips[static_cast<std::size_t>(level)]}, 120 / (level + 1.0),
                   (kMiB * 4) >> level, kMiB << level);
  }
  return graph.finish(x);
}

/// A wavefront: each cell waits for its upper and its left neighbour, so at most six run at once.
ScheduleProblem lattice(GraphBuilder graph) {
  std::vector<int> row(6, graph.input(kMiB / 4));
  for (int i = 0; i < 6; ++i) {
    int left = -1;
    for (int& cell : row) {
      cell = left < 0 ? graph.task({cell}, 50, kMiB / 4, kMiB / 8)
                      : graph.task({cell, left}, 50, kMiB / 4, kMiB / 8);
      left = cell;
    }
  }
  return graph.finish(row.back());
}

std::vector<std::vector<TransferCost>> same_transfers(std::size_t places, TransferCost cost) {
  std::vector<std::vector<TransferCost>> all(places, std::vector<TransferCost>(places, cost));
  for (std::size_t i = 0; i < places; ++i) all[i][i] = {};
  return all;
}

}  // namespace

std::vector<NamedMachine> schedule_machines() {
  std::vector<NamedMachine> machines;
  const TransferCost thin = {20 * kUs, 1.0};  // 1 GB/s
  const TransferCost wide = {5 * kUs, 0.05};  // 20 GB/s
  machines.push_back({"fast and slow, thin link", {{}, {}}, {8, 1}, same_transfers(3, thin)});
  // The slow device computes in host memory.
  machines.back().transfers[1][2] = machines.back().transfers[2][1] = {};

  NamedMachine chain = {"chain of four", {{}, {}, {}, {}}, {4, 4, 4, 4}, same_transfers(5, wide)};
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < 4; ++b) {
      const double hops = a < b ? static_cast<double>(b - a) : static_cast<double>(a - b);
      chain.transfers[a][b] = {wide.latency_ns * hops, wide.ns_per_byte * hops};
    }
  }
  machines.push_back(std::move(chain));

  machines.push_back({"fast one too small", {{kMiB * 12}, {}}, {6, 1}, same_transfers(3, wide)});
  machines.back().transfers[1][2] = machines.back().transfers[2][1] = {};
  return machines;
}

std::vector<std::string> schedule_graphs() {
  return {"chain",   "two towers", "inception", "transformer", "encoder-decoder",
          "lattice", "fan-out",    "random 1",  "random 2",    "random 3"};
}

ScheduleProblem schedule_problem(const std::string& graph, const NamedMachine& machine) {
  GraphBuilder builder(machine);
  if (graph == "encoder-decoder") return encoder_decoder(std::move(builder));
  if (graph == "lattice") return lattice(std::move(builder));
  if (graph.starts_with("random ")) {
    return random_layers(machine, static_cast<std::uint64_t>(graph.back()));
  }
  int x = builder.input(kMiB / 2);
  if (graph == "chain") {
    x = builder.chain(x, 30, 100, kMiB / 2, kMiB);
  } else if (graph == "two towers") {
    const int image = builder.chain(x, 12, 120, kMiB, kMiB);
    x = builder.task({image, builder.chain(builder.input(4096), 12, 90, kMiB / 8, kMiB)}, 20, 4096);
  } else if (graph == "inception") {
    for (int i = 0; i < 5; ++i) x = inception_block(builder, x);
  } else if (graph == "transformer") {
    for (int i = 0; i < 4; ++i) x = transformer_block(builder, x);
  } else {  // fan-out
    std::vector<int> heads;
    for (int i = 0; i < 16; ++i) heads.push_back(builder.task({x}, 40.0 + 20 * i, 65536, kMiB / 4));
    x = builder.task(heads, 10, 4096);
  }
  return builder.finish(x);
}

/// A baseline to compare schedulers with: the best of `count` random assignments, then single moves
/// as long as one helps.
double random_search_ns(const ScheduleProblem& problem, int count) {
  MakespanModel model(problem);
  std::mt19937_64 random(42);
  Assignment best;
  double best_ns = kCannotRun;
  for (int i = 0; i < count; ++i) {
    Assignment drawn;
    for (std::size_t task = 0; task < problem.tasks.size(); ++task) {
      drawn.push_back(static_cast<int>(random() % problem.devices.size()));
    }
    const double ns = model.makespan_ns(drawn);
    if (best.empty() || ns < best_ns) {
      best_ns = ns;
      best = std::move(drawn);
    }
  }
  for (bool has_moved = true; has_moved;) {
    has_moved = false;
    for (std::size_t task = 0; task < best.size(); ++task) {
      for (std::size_t device = 0; device < problem.devices.size(); ++device) {
        Assignment moved = best;
        moved[task] = static_cast<int>(device);
        const double ns = model.makespan_ns(moved);
        if (ns >= best_ns) continue;
        best_ns = ns;
        best = std::move(moved);
        has_moved = true;
      }
    }
  }
  return best_ns;
}

}  // namespace sluice::compile::testing
