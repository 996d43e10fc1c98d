// The limits of this machine, as one JSON object: what a roofline is drawn with.
//
//   bench_peak [workers] [seconds per figure]

#include <cstdio>
#include <cstdlib>

#include "bench/bench_team.h"

int main(int argc, char** argv) {
  using namespace sluice::cpu;
  const int workers = argc > 1 ? std::atoi(argv[1]) : default_worker_count();
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0.2;
  Bench bench(workers, seconds);
  std::printf(R"({"isa": "%s", "workers": %d, "gflops": %.1f, "memory_gbps": %.1f, )"
              R"("cache_gbps": %.1f})"
              "\n",
              isa_name(bench.isa()), workers, bench.peak() * 1e-9,
              read_bandwidth(bench, 512) * 1e-9, read_bandwidth(bench, 1) * 1e-9);
  return 0;
}
