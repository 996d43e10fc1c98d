// What a runtime tells about itself: events as they happen, counts and latencies of a model, its
// health, and a profile of its requests.
//
//   watch digits.sluice [unix:/run/sluice.sock]
#include <atomic>

#include "show.hpp"
#include "sluice/statistics.hpp"

static void statistics(const sluice::Runtime& runtime, const sluice::LoadedModel& model) {
  const auto counts = must(sluice::statistics_of(runtime, model));
  std::int64_t num_ok = 0, num_bad = 0;
  for (const auto& [code, count] : counts.answered) {
    (code == SLUICE_RUNTIME_CODE_OK ? num_ok : num_bad) += count;
  }
  show(counts.total.count >= 20 && num_ok == 20, "20 requests are counted");
  show(counts.compute.p50_ns > 0 && counts.compute.p50_ns <= counts.total.max_ns,
       "computing is a part of their time");
  std::printf(
      "       queue p50 %lld ns, compute p50 %lld ns, total p50 %lld ns, p99 %lld ns\n",
      static_cast<long long>(counts.queue.p50_ns), static_cast<long long>(counts.compute.p50_ns),
      static_cast<long long>(counts.total.p50_ns), static_cast<long long>(counts.total.p99_ns));
}

static void print(const sluice::Profile& profile) {
  std::size_t num_requests = 0, num_operations = 0;
  std::int64_t first_ns = INT64_MAX;
  for (const sluice_span* span : profile.spans()) first_ns = std::min(first_ns, span->start_ns);
  for (const sluice_span* span : profile.spans()) {
    num_requests += span->kind == SLUICE_SPAN_REQUEST ? 1 : 0;
    if (span->kind != SLUICE_SPAN_OPERATION) continue;
    ++num_operations;
    if (span->request == profile.spans()[0]->request) {
      std::printf("       %8.1f us %6.1f us  %s\n",
                  static_cast<double>(span->start_ns - first_ns) / 1e3,
                  static_cast<double>(span->duration_ns) / 1e3, span->name);
    }
  }
  show(num_requests == 5, "a profile has the five requests of its interval");
  show(num_operations >= 5, "and the operations inside them");
}

static std::atomic<int> num_events = 0;

int main(int argc, char** argv) {
  must(sluice::set_log([](int level, std::string_view event) {
    ++num_events;
    std::printf("       log %d: %.*s\n", level, static_cast<int>(event.size()), event.data());
  }));
  auto runtime = open_runtime(argc, argv);
  auto model = must(runtime.load({.path = argc > 1 ? argv[1] : "digits.sluice"}));
  show(num_events > 0, "a callback hears what happens to models and daemons");
  for (int i = 0; i < 20; ++i) must(model.infer(seven()));
  statistics(runtime, model);

  const auto health = must(sluice::health_of(runtime, model));
  show(health.state == SLUICE_HEALTH_HEALTHY && health.reason.empty(), "the model is healthy");

  auto profile = must(sluice::Profile::start(runtime, model));
  for (int i = 0; i < 5; ++i) must(model.infer(seven()));
  must(profile.stop());
  print(profile);

  const auto footprint = must(model.info()).footprint;
  show(footprint.total_bytes > 0, "the model has " + std::to_string(footprint.constants_bytes) +
                                      " bytes of constants, and " +
                                      std::to_string(footprint.context_bytes) + " per slot");
}
