// A model cut in two segments: what the file holds, how it runs with cores for both segments or for
// one, and how many requests are in it at a time.
//
//   pipeline digits.onnx
#include <fstream>
#include <iterator>

#include "show.hpp"
#include "sluice/compile.hpp"
#include "sluice/statistics.hpp"

static constexpr std::int64_t kBatch = 256;

/// Segments are timed apart where all sizes are known at compile time, so the batch is fixed.
static std::vector<std::byte> compile(const std::string& path) {
  auto package = must(sluice::compile_file(
      path, {.options = {"--shape", "image=256,1,8,8", "--cut", "conv2", "--cores", "1,1"}}));
  const auto bytes = must(package.bytes());
  return {bytes.begin(), bytes.end()};
}

static void show_file(std::vector<std::byte> bytes) {
  auto model = must(sluice::Model::open_copy(bytes));
  show(std::string(model.input(0).type) == "f32[256,1,8,8]", "the package has a signature");
  show(model.metadata()["onnx_opset"] == "17", "and facts about its source");
  const auto cut = sluice::Model::open_copy(std::span(bytes).first(bytes.size() / 2));
  show(!cut && cut.error().code == sluice::Code::kDataLoss, "half of a package is refused");
  auto altered = bytes;
  for (std::size_t i = 4096; i < altered.size(); i += 512) altered[i] ^= std::byte{1};
  const auto damaged = sluice::Model::open_copy(altered);
  show(!damaged && damaged.error().code == sluice::Code::kDataLoss, "altered weights are refused");
  std::printf("       %s\n       %s\n", cut.error().message.c_str(),
              damaged.error().message.c_str());
  bytes[0] = std::byte{0};
  const auto other = sluice::Model::open_copy(bytes);
  show(!other && other.error().code == sluice::Code::kInvalidArgument, "another format is refused");
}

/// Whether spans of segments overlap in time.
static bool overlaps(const sluice::Profile& profile) {
  const auto spans = profile.spans();
  for (std::size_t i = 0; i < spans.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const sluice_span &a = *spans[i], &b = *spans[j];
      if (a.kind != SLUICE_SPAN_COMPUTE || b.kind != SLUICE_SPAN_COMPUTE || a.lane == b.lane)
        continue;
      if (a.start_ns < b.start_ns + b.duration_ns && b.start_ns < a.start_ns + a.duration_ns)
        return true;
    }
  }
  return false;
}

static std::vector<sluice::InputTensor> sevens() {
  static const std::vector<float> batch = [] {
    std::vector<float> all;
    for (int i = 0; i < kBatch; ++i) all.insert(all.end(), kSeven, kSeven + 64);
    return all;
  }();
  return {sluice::tensor<float>("image", batch, {kBatch, 1, 8, 8})};
}

static bool are_sevens(const sluice::Reply& reply) {
  const auto values = must(reply.output<float>()).values;
  return is_seven(values.first(10)) && is_seven(values.last(10));
}

/// Runs 32 requests that are submitted at once.
static sluice::Profile run(const sluice::Runtime& runtime, const sluice::LoadedModel& model) {
  auto profile = must(sluice::Profile::start(runtime, model));
  std::vector<sluice::Request> requests;
  for (int i = 0; i < 32; ++i) {
    requests.push_back(must(model.submit(sevens())));
  }
  for (auto& request : requests) must(request.wait());
  must(profile.stop());
  return profile;
}

/// Whether segments overlap in one of many runs: on a busy machine threads wait for each other by
/// chance.
static bool overlaps_once(const sluice::Runtime& runtime, const sluice::LoadedModel& model) {
  for (int i = 0; i < 100; ++i) {
    if (overlaps(run(runtime, model))) return true;
  }
  return false;
}

int main(int argc, char** argv) {
  const auto package = compile(argc > 1 ? argv[1] : "digits.onnx");
  show_file(package);

  auto runtime = must(sluice::Runtime::create());
  {
    auto model = must(runtime.load({.package = package, .name = "normal", .depth = 4}));
    show(must(model.info()).mode == SLUICE_LOAD_NORMAL,
         "with a core for each segment: mode normal");
    show(must(model.info()).depth == 4, "four requests are in it at a time, as fixed at its load");
    const auto reply = must(model.infer(sevens(), {.wants_detail = true}));
    show(are_sevens(reply) && reply.detail()->num_segments == 2,
         "a request runs through both segments");
    show(overlaps_once(runtime, model), "segments of different requests run at the same time");
  }
  auto group = must(runtime.create_group({.num_cores = 1}));
  auto model =
      must(runtime.load({.package = package, .name = "shared", .group = group.id(), .depth = 4}));
  must(model.start());
  show(must(model.info()).mode == SLUICE_LOAD_SHARED, "with one core for both: mode shared");
  show(are_sevens(must(model.infer(sevens()))), "which gives the same answer");
  show(!overlaps(run(runtime, model)), "and the segments take turns");
}
