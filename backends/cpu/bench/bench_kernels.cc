// Times the transformer half of the kernels at the sizes of known networks, against this machine's
// own limits: multiply-adds that never leave the registers, and reading memory.
//
//   bench_kernels [max workers] [seconds per line]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/bench_team.h"
#include "kernels/matrix/gemm.h"
#include "kernels/rows/rows.h"
#include "kernels/sequence/attention.h"
#include "kernels/sequence/lstm.h"
#include "kernels/strassen/strassen.h"
#include "pool/cpu_set.h"
#include "pool/pool.h"

namespace sluice::cpu {
namespace {

struct GemmShape {
  const char* what;
  std::int64_t m, n, k;
};

/// What a product reads and writes. Weights rotate through several copies when they are to be cold.
class Operands {
 public:
  Operands(const GemmShape& s, std::int64_t b_floats, bool cold)
      : b_floats_(b_floats),
        copies_(cold ? std::max<std::int64_t>(1, (600 << 18) / b_floats) : 1),
        a_(filled(s.m * s.k)),
        b_(filled(b_floats * copies_)),
        bias_(filled(s.n)),
        c_(filled(s.m * s.n)) {}

  GemmArgs of_round(int round) const {
    return {a_.data(), b_.data() + round % copies_ * b_floats_, c_.data(), bias_.data(), {}};
  }

 private:
  std::int64_t b_floats_;
  std::int64_t copies_;
  FloatBuffer a_;
  FloatBuffer b_;
  FloatBuffer bias_;
  FloatBuffer c_;
};

void print_product(const Bench& bench, const char* what, const GemmShape& s, bool cold,
                   double seconds) {
  const double flops = 2.0 * static_cast<double>(s.m * s.n * s.k) / seconds;
  std::printf("  %-22s %4ldx%-5ldx%-5ld %s %9.1f us %7.1f GF/s %5.1f %% of FMA peak", what, s.m,
              s.n, s.k, cold ? "cold" : "warm", seconds * 1e6, flops * 1e-9,
              flops * 100 / bench.peak());
}

void bench_gemm(Bench& bench, const GemmShape& s, bool cold, double bandwidth) {
  const Isa isa = bench.isa();
  const std::int64_t floats = SLUICE_CPU_PICK(isa, packed_gemm_b_floats)(s.k, s.n);
  const Operands operands(s, floats, cold);
  const GemmPlan plan = GemmPlan::of(s.m, s.n, s.k);
  const double seconds = bench.time([&](const Worker& w, int round, const Member&) {
    SLUICE_CPU_PICK(isa, run_gemm)(plan, operands.of_round(round), w);
  });
  print_product(bench, s.what, s, cold, seconds);
  const double bytes = static_cast<double>(floats) * 4 / seconds;
  if (s.m <= 8) std::printf(", %5.1f GB/s", bytes * 1e-9);
  if (s.m <= 8 && cold) std::printf(" = %5.1f %% of reading", bytes * 100 / bandwidth);
  std::printf("\n");
}

/// The same product by Strassen's method, where the shape allows it.
void bench_strassen(Bench& bench, const GemmShape& s, int levels) {
  const StrassenCut cut = find_strassen_cut(s.m, s.k, s.n, levels);
  if (cut.levels != levels) return;
  const Isa isa = bench.isa();
  const Operands operands(s, SLUICE_CPU_PICK(isa, packed_strassen_b_floats)(cut, s.k, s.n), true);
  const GemmPlan plan = GemmPlan::of(s.m, s.n, s.k);
  const double seconds = bench.time([&](const Worker& w, int round, const Member&) {
    SLUICE_CPU_PICK(isa, run_strassen)(cut, plan, operands.of_round(round), w);
  });
  print_product(bench, levels == 1 ? "  Strassen, 1 level" : "  Strassen, 2 levels", s, true,
                seconds);
  std::printf("\n");
}

void bench_attention(Bench& bench, const char* what, std::int64_t heads, std::int64_t queries,
                     std::int64_t keys, std::int64_t size) {
  const FloatBuffer q = filled(heads * queries * size);
  const FloatBuffer k = filled(heads * keys * size);
  const FloatBuffer v = filled(heads * keys * size);
  const FloatBuffer out = filled(heads * queries * size);
  AttentionPlan plan;
  plan.heads = plan.kv_heads = heads;
  plan.queries = queries;
  plan.keys = keys;
  plan.head_size = plan.value_size = size;
  plan.q = plan.out = {0, queries * size, size, 1};
  plan.k = plan.v = {0, keys * size, size, 1};
  const double seconds = bench.time([&](const Worker& w, int, const Member&) {
    SLUICE_CPU_PICK(bench.isa(), run_attention)
    (plan, {q.data(), k.data(), v.data(), nullptr, out.data()}, w);
  });
  const double flops = 4.0 * static_cast<double>(heads * queries * keys * size) / seconds;
  std::printf("  %-22s %ld heads, %ldx%ldx%ld %9.1f us %7.1f GF/s %5.1f %% of FMA peak\n", what,
              heads, queries, keys, size, seconds * 1e6, flops * 1e-9, flops * 100 / bench.peak());
}

void bench_rows(Bench& bench, std::int64_t rows, std::int64_t cols) {
  const FloatBuffer x = filled(rows * cols);
  const FloatBuffer y = filled(rows * cols);
  const FloatBuffer scale = filled(cols);
  const double norm = bench.time([&](const Worker& w, int, const Member&) {
    SLUICE_CPU_PICK(bench.isa(), run_norm)
    ({rows, cols, 1e-5F, NormKind::kLayer}, x.data(), scale.data(), scale.data(), y.data(), {}, w);
  });
  const double softmax = bench.time([&](const Worker& w, int, const Member&) {
    SLUICE_CPU_PICK(bench.isa(), run_softmax)({rows, cols, 1}, x.data(), y.data(), w);
  });
  const double megabytes = static_cast<double>(rows * cols) * 8 * 1e-9;
  std::printf("  layer norm %ldx%ld %.1f us (%.1f GB/s), softmax %.1f us (%.1f GB/s)\n", rows, cols,
              norm * 1e6, megabytes / norm, softmax * 1e6, megabytes / softmax);
}

void bench_lstm(Bench& bench, std::int64_t steps, std::int64_t inputs, std::int64_t hidden) {
  const Isa isa = bench.isa();
  LstmPlan plan;
  plan.steps = steps;
  plan.batch = 1;
  plan.inputs = inputs;
  plan.hidden = hidden;
  const FloatBuffer x = filled(steps * inputs);
  const FloatBuffer w = filled(SLUICE_CPU_PICK(isa, packed_lstm_w_floats)(inputs, hidden));
  const FloatBuffer r = filled(SLUICE_CPU_PICK(isa, packed_lstm_r_floats)(hidden));
  const FloatBuffer bias = filled(SLUICE_CPU_PICK(isa, packed_lstm_bias_floats)(hidden));
  const FloatBuffer y = filled(steps * hidden);
  const FloatBuffer shared = filled(SLUICE_CPU_PICK(isa, lstm_shared_floats)(plan));
  LstmArgs args;
  args.x = x.data();
  args.w = w.data();
  args.r = r.data();
  args.bias = bias.data();
  args.y = y.data();
  args.shared = shared.data();
  const double seconds = bench.time([&](const Worker& worker, int, const Member& member) {
    for (int phase = 0; phase < plan.phases(); ++phase) {
      SLUICE_CPU_PICK(isa, run_lstm)(plan, args, phase, worker);
      member.sync();
    }
  });
  const double bytes = static_cast<double>(steps * hidden * hidden) * 16 / seconds;
  std::printf("  lstm %ld steps, %ld -> %ld %9.1f us, %.1f GB/s of recurrent weights\n", steps,
              inputs, hidden, seconds * 1e6, bytes * 1e-9);
}

void bench_barrier(Bench& bench) {
  constexpr int kMeetings = 1000;
  const double seconds = bench.time([](const Worker&, int, const Member& member) {
    for (int i = 0; i < kMeetings; ++i) member.sync();
  });
  std::printf("  barrier %.3f us", seconds / kMeetings * 1e6);
  const double empty = bench.time([](const Worker&, int, const Member&) {});
  std::printf(", empty task %.3f us\n", empty * 1e6);
}

void bench_all(int workers, double seconds) {
  Bench bench(workers, seconds);
  const double bandwidth = read_bandwidth(bench, 512);
  std::printf("%s, %d workers: peak %.1f GF/s, reading %.1f GB/s (512 MB), %.1f GB/s (1 MB)\n",
              isa_name(bench.isa()), workers, bench.peak() * 1e-9, bandwidth * 1e-9,
              read_bandwidth(bench, 1) * 1e-9);
  const GemmShape shapes[] = {
      {"BERT projection", 128, 768, 768},  {"BERT ffn in", 128, 3072, 768},
      {"BERT ffn out", 128, 768, 3072},    {"GPT-2 qkv, decode", 1, 2304, 768},
      {"GPT-2 ffn, decode", 1, 3072, 768}, {"GPT-2 vocabulary", 1, 50257, 768},
      {"four rows", 4, 3072, 768},         {"MLP 784-512", 1, 512, 784},
      {"MLP 512-512", 1, 512, 512},        {"MLP 256-10", 1, 10, 256},
      {"large", 1024, 1024, 1024}};
  for (const GemmShape& s : shapes) {
    bench_gemm(bench, s, false, bandwidth);
    if (s.m <= 128 && s.n * s.k > 200000) bench_gemm(bench, s, true, bandwidth);
    for (const int levels : {1, 2}) bench_strassen(bench, s, levels);
  }
  bench_attention(bench, "BERT", 12, 128, 128, 64);
  bench_attention(bench, "ViT", 12, 197, 197, 64);
  bench_attention(bench, "speech", 6, 500, 500, 64);
  bench_attention(bench, "GPT-2 decode", 12, 1, 257, 64);
  bench_attention(bench, "long", 8, 1024, 1024, 64);
  bench_rows(bench, 128, 768);
  bench_lstm(bench, 100, 512, 512);
  bench_barrier(bench);
}

}  // namespace
}  // namespace sluice::cpu

int main(int argc, char** argv) {
  const int workers = argc > 1 ? std::atoi(argv[1]) : sluice::cpu::default_worker_count();
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0.2;
  for (int count = 1; count <= workers; count *= 2) sluice::cpu::bench_all(count, seconds);
  return 0;
}
