// Times every convolution of ResNet-50 and MobileNetV2, in network order and with weights of their
// own, so that weights are as cold as in a real run.
//
//   bench_conv [resnet50|mobilenetv2|vgg16] [workers] [batch] [repeats]
//   [direct|winograd|winograd2|best]

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "bench/fma_peak.h"
#include "conv/depthwise/depthwise.h"
#include "conv/winograd/winograd.h"

namespace sluice::cpu {
namespace {

struct Layer {
  ConvShape shape;
  ConvEpilogue epilogue;
};

ConvShape square(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t kernel,
                 std::int64_t stride) {
  ConvShape s;
  s.in_channels = in;
  s.out_channels = out;
  s.input = {size, size};
  s.kernel = {kernel, kernel};
  s.stride = {stride, stride};
  s.pad_begin = s.pad_end = {kernel / 2, kernel / 2};
  if (in == 3) s.in_layout = Layout::kPlanes;
  return s;
}

constexpr ConvEpilogue kPlain = {};
constexpr ConvEpilogue kRelu = {false, kReluBounds};
constexpr ConvEpilogue kAddRelu = {true, kReluBounds};
constexpr ConvEpilogue kAdd = {true};
constexpr ConvEpilogue kRelu6 = {false, {0, 6}};

std::vector<Layer> resnet50() {
  std::vector<Layer> layers = {{square(3, 64, 224, 7, 2), kRelu}};
  const int counts[] = {3, 4, 6, 3};
  std::int64_t in = 64;
  std::int64_t size = 56;
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t mid = std::int64_t{64} << stage;
    for (int i = 0; i < counts[stage]; ++i) {
      const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      layers.push_back({square(in, mid, size, 1, 1), kRelu});
      layers.push_back({square(mid, mid, size, 3, stride), kRelu});
      if (i == 0) layers.push_back({square(in, mid * 4, size, 1, stride), kPlain});
      size /= stride;
      layers.push_back({square(mid, mid * 4, size, 1, 1), kAddRelu});
      in = mid * 4;
    }
  }
  return layers;
}

std::vector<Layer> mobilenetv2() {
  std::vector<Layer> layers = {{square(3, 32, 224, 3, 2), kRelu6}};
  const int blocks[][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                           {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  std::int64_t in = 32;
  std::int64_t size = 112;
  for (const auto& [expand, out, count, first_stride] : blocks) {
    for (int i = 0; i < count; ++i) {
      const std::int64_t stride = i == 0 ? first_stride : 1;
      const std::int64_t mid = in * expand;
      if (expand != 1) layers.push_back({square(in, mid, size, 1, 1), kRelu6});
      layers.push_back({square(mid, mid, size, 3, stride), kRelu6});
      layers.back().shape.groups = mid;
      size /= stride;
      layers.push_back({square(mid, out, size, 1, 1), i == 0 ? kPlain : kAdd});
      in = out;
    }
  }
  layers.push_back({square(320, 1280, 7, 1, 1), kRelu6});
  return layers;
}

std::vector<Layer> vgg16() {
  std::vector<Layer> layers;
  const int counts[] = {2, 2, 3, 3, 3};
  std::int64_t in = 3;
  std::int64_t size = 224;
  std::int64_t out = 64;
  for (const int count : counts) {
    for (int i = 0; i < count; ++i) {
      layers.push_back({square(in, out, size, 3, 1), kRelu});
      in = out;
    }
    size /= 2;
    out = std::min<std::int64_t>(512, out * 2);
  }
  return layers;
}

/// How layers that Winograd's method fits are computed.
enum class Choice { kDirect, kWinogradTwo, kWinogradFour, kBest };

/// None: direct.
std::optional<WinogradTile> choose_tile(const ConvShape& shape, Choice choice) {
  if (choice == Choice::kDirect || winograd_refusal(shape) != nullptr) return std::nullopt;
  if (choice == Choice::kBest) return winograd_pays(shape);
  return choice == Choice::kWinogradTwo ? WinogradTile::kTwo : WinogradTile::kFour;
}

/// 64-byte aligned floats on huge pages where the system gives them, all `value`.
class Floats {
 public:
  Floats(std::int64_t count, float value) {
    constexpr std::size_t kPage = 2 << 20;
    const std::size_t bytes = (static_cast<std::size_t>(count) * 4 + kPage - 1) / kPage * kPage;
    data_.reset(static_cast<float*>(std::aligned_alloc(kPage, bytes)));
    madvise(data_.get(), bytes, MADV_HUGEPAGE);
    std::fill_n(data_.get(), bytes / 4, value);
  }
  float* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> data_;
};

struct Step {
  ConvShape shape;
  std::function<void(const ConvArgs&, const Worker&)> run;
  Floats packed;
  double flops;
  std::vector<double> seconds;
};

/// All workers leave together.
class SpinBarrier {
 public:
  explicit SpinBarrier(int count) : count_(count) {}
  void wait() {
    const int phase = phase_.load();
    if (arrived_.fetch_add(1) + 1 == count_) {
      arrived_ = 0;
      phase_ = phase + 1;
      return;
    }
    while (phase_.load() == phase) {
    }
  }

 private:
  int count_;
  std::atomic<int> arrived_{0};
  std::atomic<int> phase_{0};
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Network {
 public:
  Network(std::vector<Layer> layers, std::int64_t batch, Choice choice) {
    for (Layer& layer : layers) {
      ConvShape& s = layer.shape;
      s.batch = batch;
      const Extent out = s.output();
      const std::int64_t group_channels = s.in_channels / s.groups;
      const double flops = 2.0 * static_cast<double>(batch * out.h * out.w * s.out_channels *
                                                     group_channels * s.kernel.h * s.kernel.w);
      largest_ = std::max({largest_, batch * blocks_of(s.in_channels) * 16 * s.input.h * s.input.w,
                           batch * blocks_of(s.out_channels) * 16 * out.h * out.w});
      if (is_depthwise(s)) {
        DepthwisePlan plan = plan_depthwise(s, layer.epilogue, active_isa());
        Floats packed(packed_depthwise_size(s), 0.01f);
        const auto run = [plan](const ConvArgs& args, const Worker& worker) {
          run_depthwise(plan, args, worker);
        };
        steps_.push_back({s, run, std::move(packed), flops, {}});
      } else if (const auto tile = choose_tile(s, choice)) {
        const WinogradWeights form = {*tile};
        WinogradPlan plan = plan_winograd(s, layer.epilogue, active_isa(), form);
        Floats packed(winograd_weights_bytes(s, active_isa(), form) / 4, 0.01f);
        scratch_bytes_ = std::max(scratch_bytes_, plan.scratch_bytes());
        const auto run = [plan](const ConvArgs& args, const Worker& worker) {
          run_winograd(plan, args, worker);
        };
        steps_.push_back({s, run, std::move(packed), flops, {}});
      } else {
        ConvPlan plan = plan_conv(s, layer.epilogue, active_isa());
        Floats packed(plan.packing.size(), 0.01f);
        scratch_bytes_ = std::max(scratch_bytes_, plan.scratch_bytes());
        const auto run = [plan](const ConvArgs& args, const Worker& worker) {
          run_conv(plan, args, worker);
        };
        steps_.push_back({s, run, std::move(packed), flops, {}});
      }
    }
  }

  void run(int workers, int repeats) {
    SpinBarrier barrier(workers);
    std::vector<Floats> buffers;
    for (int i = 0; i < 3; ++i) buffers.emplace_back(largest_, 0.5f);
    std::vector<std::thread> threads;
    for (int w = 1; w < workers; ++w) {
      threads.emplace_back([&, w] { work({w, workers}, repeats, buffers, barrier); });
    }
    work({0, workers}, repeats, buffers, barrier);
    for (std::thread& t : threads) t.join();
  }

  void report(double peak) const {
    double total = 0;
    double flops = 0;
    for (const Step& step : steps_) {
      const ConvShape& s = step.shape;
      std::vector<double> sorted = step.seconds;
      std::sort(sorted.begin(), sorted.end());
      const double seconds = sorted[sorted.size() / 2];
      total += seconds;
      flops += step.flops;
      std::printf("%4ldx%-5ld g%-4ld %3ldx%-3ld k%ld s%ld  %8.1f us %7.1f GF/s %5.1f %%\n",
                  s.in_channels, s.out_channels, s.groups, s.output().h, s.output().w, s.kernel.h,
                  s.stride.h, seconds * 1e6, step.flops / seconds * 1e-9,
                  step.flops / seconds * 100 / peak);
    }
    std::printf("all: %.3f ms, %.1f GF/s, %.1f %% of peak %.1f\n", total * 1e3,
                flops / total * 1e-9, flops / total * 100 / peak, peak * 1e-9);
  }

 private:
  void work(Worker worker, int repeats, const std::vector<Floats>& buffers, SpinBarrier& barrier) {
    const Floats bias(4096, 0.1F);
    const Floats scratch(scratch_bytes_ / 4 + 16, 0);
    worker.scratch = reinterpret_cast<std::byte*>(scratch.data());
    for (int r = 0; r < repeats; ++r) {
      double before = now();
      for (std::size_t i = 0; i < steps_.size(); ++i) {
        const ConvArgs args = {buffers[i % 3].data(), steps_[i].packed.data(), bias.data(),
                               buffers[(i + 2) % 3].data(), buffers[(i + 1) % 3].data()};
        steps_[i].run(args, worker);
        barrier.wait();
        if (worker.index != 0) continue;
        const double after = now();
        steps_[i].seconds.push_back(after - before);
        before = after;
      }
    }
  }

  std::vector<Step> steps_;
  std::int64_t scratch_bytes_ = 0;
  std::int64_t largest_ = 0;
};

}  // namespace
}  // namespace sluice::cpu

int main(int argc, char** argv) {
  using namespace sluice::cpu;
  const auto is = [&](int index, const char* word) {
    return argc > index && std::strcmp(argv[index], word) == 0;
  };
  const int workers = argc > 2 ? std::atoi(argv[2]) : 1;
  const int batch = argc > 3 ? std::atoi(argv[3]) : 1;
  const int repeats = argc > 4 ? std::atoi(argv[4]) : 30;
  const Choice choice = is(5, "direct")      ? Choice::kDirect
                        : is(5, "winograd2") ? Choice::kWinogradTwo
                        : is(5, "winograd")  ? Choice::kWinogradFour
                                             : Choice::kBest;
  Network network(is(1, "mobilenetv2") ? mobilenetv2()
                  : is(1, "vgg16")     ? vgg16()
                                       : resnet50(),
                  batch, choice);
  network.run(workers, repeats);
  const double peak = SLUICE_CPU_PICK(active_isa(), fma_flops_per_second)() * workers;
  network.report(peak);
  return 0;
}
