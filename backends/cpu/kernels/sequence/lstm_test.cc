#include "kernels/sequence/lstm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "testing/test_isas.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Floats = std::vector<float>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Operands {
  Floats x, w, r, bias, h, c;
};

struct Results {
  Floats y, h, c;
};

Results expected(const LstmPlan& p, const Operands& o) {
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  Results out;
  out.y.resize(size(p.steps * p.directions * p.batch * p.hidden));
  out.h = o.h;
  out.c = o.c;
  for (std::int64_t d = 0; d < p.directions; ++d) {
    for (std::int64_t s = 0; s < p.steps; ++s) {
      const std::int64_t t = p.is_reverse(d) ? p.steps - 1 - s : s;
      const Floats before = out.h;
      for (std::int64_t b = 0; b < p.batch; ++b) {
        for (std::int64_t u = 0; u < p.hidden; ++u) {
          double gate[4];
          for (std::int64_t g = 0; g < 4; ++g) {
            const std::int64_t row = g * p.hidden + u;
            gate[g] =
                o.bias[size(d * 8 * p.hidden + row)] + o.bias[size((d * 8 + 4) * p.hidden + row)];
            for (std::int64_t i = 0; i < p.inputs; ++i) {
              gate[g] += double{o.w[size((d * 4 * p.hidden + row) * p.inputs + i)]} *
                         o.x[size((t * p.batch + b) * p.inputs + i)];
            }
            for (std::int64_t k = 0; k < p.hidden; ++k) {
              gate[g] += double{o.r[size((d * 4 * p.hidden + row) * p.hidden + k)]} *
                         before[size((d * p.batch + b) * p.hidden + k)];
            }
          }
          const std::size_t state = size((d * p.batch + b) * p.hidden + u);
          const double c = sigmoid(gate[2]) * out.c[state] + sigmoid(gate[0]) * std::tanh(gate[3]);
          const double h = sigmoid(gate[1]) * std::tanh(c);
          out.c[state] = static_cast<float>(c);
          out.h[state] = static_cast<float>(h);
          out.y[size(((t * p.directions + d) * p.batch + b) * p.hidden + u)] =
              static_cast<float>(h);
        }
      }
    }
  }
  return out;
}

struct Packed {
  Packed(Isa isa, const LstmPlan& p, const Operands& o) {
    const std::int64_t w_floats = SLUICE_CPU_PICK(isa, packed_lstm_w_floats)(p.inputs, p.hidden);
    const std::int64_t r_floats = SLUICE_CPU_PICK(isa, packed_lstm_r_floats)(p.hidden);
    const std::int64_t b_floats = SLUICE_CPU_PICK(isa, packed_lstm_bias_floats)(p.hidden);
    w.resize(static_cast<std::size_t>(p.directions * w_floats));
    r.resize(static_cast<std::size_t>(p.directions * r_floats));
    bias.resize(static_cast<std::size_t>(p.directions * b_floats));
    Floats temporary(static_cast<std::size_t>(w_floats));
    for (std::int64_t d = 0; d < p.directions; ++d) {
      const std::int64_t rows = d * 4 * p.hidden;
      SLUICE_CPU_PICK(isa, pack_lstm_w)
      (o.w.data() + rows * p.inputs, p.inputs, p.hidden, temporary.data(), w.data() + d * w_floats);
      SLUICE_CPU_PICK(isa, pack_lstm_r)
      (o.r.data() + rows * p.hidden, p.hidden, r.data() + d * r_floats);
      SLUICE_CPU_PICK(isa, pack_lstm_bias)
      (o.bias.data() + 2 * rows, p.hidden, bias.data() + d * b_floats);
    }
  }
  Floats w, r, bias;
};

void expect_near(const Floats& got, const Floats& want, const char* what, Isa isa) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 2e-5) << what << " " << isa_name(isa) << " at " << i;
  }
}

TEST(Lstm, MatchesTheDefinitionInEveryDirection) {
  const LstmPlan plans[] = {{5, 1, 7, 33, 1, false},  {4, 3, 20, 16, 1, true},
                            {6, 7, 11, 40, 2, false}, {3, 1, 1, 1, 2, false},
                            {1, 2, 64, 64, 1, false}, {10, 5, 3, 100, 1, false}};
  for (const Isa isa : isas_to_test()) {
    for (const LstmPlan& p : plans) {
      const std::int64_t states = p.directions * p.batch * p.hidden;
      const Operands o{random_floats(p.steps * p.batch * p.inputs, 1),
                       random_floats(p.directions * 4 * p.hidden * p.inputs, 2),
                       random_floats(p.directions * 4 * p.hidden * p.hidden, 3),
                       random_floats(p.directions * 8 * p.hidden, 4),
                       random_floats(states, 5),
                       random_floats(states, 6)};
      const Results want = expected(p, o);
      const Packed packed(isa, p, o);
      for (const int workers : {1, 2, 3}) {
        Floats y(want.y.size());
        Floats h(want.h.size());
        Floats c(want.c.size());
        Floats shared(static_cast<std::size_t>(SLUICE_CPU_PICK(isa, lstm_shared_floats)(p)), NAN);
        LstmArgs args{o.x.data(), packed.w.data(), packed.r.data(), packed.bias.data(),
                      o.h.data(), o.c.data(),      y.data(),        h.data(),
                      c.data(),   shared.data()};
        for (int phase = 0; phase < p.phases(); ++phase) {
          for_each_worker(workers, 0, [&](const Worker& w) {
            SLUICE_CPU_PICK(isa, run_lstm)(p, args, phase, w);
          });
        }
        expect_near(y, want.y, "y", isa);
        expect_near(h, want.h, "h", isa);
        expect_near(c, want.c, "c", isa);
      }
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
