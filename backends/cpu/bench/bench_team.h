#pragma once

// What the bench programs of this folder share: a team of workers that is timed, filled memory, and
// the machine's own limits.

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "bench/fma_peak.h"
#include "core/float_buffer.h"
#include "kernels/matrix/gemm.h"
#include "pool/cpu_set.h"
#include "pool/pool.h"

namespace sluice::cpu {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline FloatBuffer filled(std::int64_t count) {
  FloatBuffer buffer(count + 16);
  for (std::int64_t i = 0; i < count; ++i) {
    buffer.data()[i] = static_cast<float>(i % 13) * 0.01F - 0.06F;
  }
  return buffer;
}

using Work = std::function<void(const Worker&, int round, const Member&)>;

class Bench {
 public:
  Bench(int workers, double seconds) : pool_(cpus(workers)), seconds_(seconds), isa_(active_isa()) {
    for (int i = 0; i < workers; ++i) scratch_.push_back(filled(4 << 20));
    peak_ = SLUICE_CPU_PICK(isa_, fma_flops_per_second)() * workers;
  }

  Isa isa() const { return isa_; }
  double peak() const { return peak_; }

  /// Seconds of one round, as the median of many rounds. `work` gets the number of the round and
  /// can use cold weights.
  double time(const Work& work, double quantile = 0.5) {
    std::vector<double> samples;
    int round = 0;
    for (const double start = now(); now() - start < seconds_ || samples.size() < 5; ++round) {
      const double before = now();
      run(work, round);
      samples.push_back(now() - before);
    }
    std::sort(samples.begin(), samples.end());
    return samples[static_cast<std::size_t>(quantile * static_cast<double>(samples.size() - 1))];
  }

 private:
  static std::vector<int> cpus(int workers) {
    std::vector<int> all = allowed_cpus();
    all.resize(static_cast<std::size_t>(std::min<int>(workers, static_cast<int>(all.size()))));
    return all;
  }

  void run(const Work& work, int round) {
    struct Task {
      const Work* work;
      std::vector<FloatBuffer>* scratch;
      int round;
    } task{&work, &scratch_, round};
    pool_.run(
        [](void* context, const Member& member) {
          auto& t = *static_cast<Task*>(context);
          float* scratch = (*t.scratch)[static_cast<std::size_t>(member.index())].data();
          (*t.work)({member.index(), member.count(), reinterpret_cast<std::byte*>(scratch)},
                    t.round, member);
        },
        &task);
  }

  ThreadPool pool_;
  double seconds_;
  Isa isa_;
  double peak_ = 0;
  std::vector<FloatBuffer> scratch_;
};

/// Bytes per second that all workers together read from `megabytes` of memory.
inline double read_bandwidth(Bench& bench, std::int64_t megabytes) {
  const std::int64_t count = megabytes << 18;
  const FloatBuffer memory = filled(count);
  std::vector<float> sums(64 * 16);
  const double seconds = bench.time(
      [&](const Worker& w, int, const Member&) {
        // A matrix product with one row is the plainest reader there is.
        static thread_local float row[64];
        GemmPlan plan;
        const Share share = share_of(count / 64, 1, w);
        plan.m = 1;
        plan.n = 64;
        plan.k = share.end - share.begin;
        plan.a_step = 0;
        plan.b_row = 64;
        plan.b_form = GemmB::kPacked;
        static const float kOne = 1;
        SLUICE_CPU_PICK(bench.isa(), run_gemm)
        (plan, {&kOne, memory.data() + share.begin * 64, row, nullptr, {}},
         Worker{0, 1, w.scratch});
      },
      0);  // the best round: a limit
  return static_cast<double>(count) * 4 / seconds;
}

}  // namespace sluice::cpu
