// What the daemon adds: unary gRPC beside a bare echo of the same bytes, a round trip through the
// ring, large tensors through shared memory beside the same run in this process, and throughput.
//
//     rpc [unary|large|flood|batches]     # one of them alone
#include <fmt/core.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>

#include "../runtime/networks.h"
#include "echo.h"
#include "flood.h"
#include "package/package.h"
#include "programs.h"
#include "proto/sluice/v1/runtime.grpc.pb.h"
#include "rpc/client/client.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSmall = R"(
subgraph @0 "main" {
  input %x : f32[256]
  [%y : f32[256]] = Relu.14[%x]
  output [%y]
}
)";
/// 602 KB in, 3.9 KB out.
constexpr std::string_view kLarge = R"(
subgraph @0 "main" {
  input %x : f32[1,3,224,224]
  const %w : f32[5,3,16,16] = splat 0.01
  [%y : f32[1,5,14,14]] = Conv.11[%x, %w] {strides = [16, 16]}
  output [%y]
}
)";

std::shared_ptr<const package::Executable> network(std::string_view text) {
  package::Executable executable;
  executable.graph = value_of(ir::parse_graph(text));
  check(ops::infer_types(executable.graph));
  executable.backends = {"cpu"};
  executable.backend_of = {std::vector<std::int16_t>(executable.graph.main().num_operations(), 0)};
  return std::make_shared<const package::Executable>(std::move(executable));
}

/// inputs-hidden-hidden-10, the products with their activations; `rows` is a number or a symbol.
std::shared_ptr<const package::Executable> mlp(std::string_view rows, int inputs, int hidden) {
  return network(fmt::format(R"(
subgraph @0 "main" {{
  input %x : f32[{0},{1}]
  const %a : f32[{1},{2}] = splat 0.01
  const %b : f32[{2},{2}] = splat 0.01
  const %c : f32[{2},10] = splat 0.01
  [%p : f32[{0},{2}]] = MatMul.13[%x, %a]
  [%q : f32[{0},{2}]] = Relu.14[%p]
  [%r : f32[{0},{2}]] = MatMul.13[%q, %b]
  [%s : f32[{0},{2}]] = Relu.14[%r]
  [%y : f32[{0},10]] = MatMul.13[%s, %c]
  output [%y]
}}
)",
                             rows, inputs, hidden));
}

double median(std::vector<double> times) {
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

/// Medians in microseconds of both, which take turns.
std::pair<double, double> compare(const std::function<void()>& one,
                                  const std::function<void()>& other, int calls) {
  constexpr int kRounds = 31;
  std::pair<std::vector<double>, std::vector<double>> times;
  const auto measure = [&](const std::function<void()>& call, std::vector<double>& to, bool keep) {
    for (int i = 0; i < calls; ++i) {
      const std::int64_t start = system_clock().now_ns();
      call();
      if (keep) to.push_back(static_cast<double>(system_clock().now_ns() - start) / 1e3);
    }
  };
  for (int round = 0; round < kRounds; ++round) {
    measure(one, times.first, round > 0);
    measure(other, times.second, round > 0);
  }
  return {median(std::move(times.first)), median(std::move(times.second))};
}

class Bench {
 public:
  Bench()
      : folder_(make_folder()),
        echo_(start_echo(folder_ + "/echo.sock")),
        daemon_(start_daemon(folder_)),
        client_(connect(true)) {
    for (const auto& [stub, socket] :
         {std::pair{&echo_stub_, "echo.sock"}, std::pair{&stub_, "sluice.sock"}}) {
      const auto channel = grpc::CreateChannel(fmt::format("unix:{}/{}", folder_, socket),
                                               grpc::InsecureChannelCredentials());
      *stub = v1::Runtime::NewStub(channel);
    }
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() { fs::remove_all(folder_); }

  /// `part`: empty for all.
  void run(std::string_view part) {
    if (part.empty() || part == "unary") unary_and_ring();
    if (part.empty() || part == "large") large();
    if (part.empty() || part == "flood") flood();
    if (part.empty() || part == "batches") batches();
  }

 private:
  static std::string make_folder() {
    std::string name = (fs::temp_directory_path() / "sluice-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::exit(1);
    return name;
  }

  std::unique_ptr<rpc::client::Client> connect(bool uses_ring) const {
    rpc::client::ClientOptions options;
    options.address = fmt::format("unix:{}/sluice.sock", folder_);
    options.uses_ring = uses_ring;
    auto client = value_of(rpc::client::Client::create(options));
    value_of(client->open_session("bench"));
    return client;
  }

  /// Everybody's, so that calls without a session reach it too.
  std::uint64_t load(const package::Executable& executable, int depth,
                     const std::optional<terms::BatchOptions>& batching = {}) {
    const std::string path = folder_ + "/m.sluice";
    check(package::write_package(executable, path));
    if (nobody_ == nullptr) {
      rpc::client::ClientOptions options;
      options.address = fmt::format("unix:{}/sluice.sock", folder_);
      nobody_ = value_of(rpc::client::Client::create(options));
    }
    terms::LoadOptions options;
    options.depth = depth;
    options.batching = batching;
    return value_of(nobody_->upload(options, path)).info.handle;
  }

  static void call(v1::Runtime::Stub& stub, const v1::InferRequest& request) {
    grpc::ClientContext context;
    v1::InferResponse response;
    const grpc::Status status = stub.Infer(&context, request, &response);
    if (status.ok()) return;
    fmt::print(stderr, "{}\n", status.error_message());
    std::exit(1);
  }

  static v1::InferRequest request_of(std::uint64_t model, const std::vector<std::int64_t>& shape,
                                     std::size_t size_bytes) {
    v1::InferRequest request;
    request.set_model(model);
    v1::Tensor& x = *request.add_inputs();
    x.set_name("x");
    x.set_element_type(1);
    x.mutable_shape()->Assign(shape.begin(), shape.end());
    x.set_data(std::string(size_bytes, '\0'));
    return request;
  }

  void unary_and_ring() {
    const std::uint64_t model = load(*network(kSmall), 2);
    const v1::InferRequest request = request_of(model, {256}, 1024);
    const auto [echo, unary] =
        compare([&] { call(*echo_stub_, request); }, [&] { call(*stub_, request); }, 300);
    fmt::print("1 KB unary over gRPC   {:8.1f} us, echo {:.1f} us: {:.2f} (at most 1.30)\n", unary,
               echo, unary / echo);
    std::vector<float> x(256, 1.0F);
    const terms::TensorView view = {x.data(), 1024, ir::ElementType::kF32, {256}};
    const auto through = [&](rpc::client::Client& client) {
      value_of(client.infer(model, {{"x", view}}));
    };
    const auto without = connect(false);
    const auto [ring, grpc] = compare([&] { through(*client_); }, [&] { through(*without); }, 300);
    fmt::print("1 KB through the ring  {:8.1f} us (at most 12), the client over gRPC {:.1f} us\n",
               ring, grpc);
    check(nobody_->unload(model));
  }

  void large() {
    const auto executable = network(kLarge);
    constexpr std::int64_t kIn = 3 * 224 * 224 * 4;
    constexpr std::int64_t kOut = 5 * 14 * 14 * 4;
    const std::uint64_t model = load(*executable, 2);
    const auto shared = value_of(client_->share(1 << 20));
    auto* x = shared->memory().data();
    auto* y = x + ((kIn + 63) & ~std::int64_t{63});
    std::vector<float> unshared(kIn / 4);
    rpc::client::InferOptions options;
    options.outputs = {{y, kOut}};
    const std::vector<std::int64_t> dims = {1, 3, 224, 224};

    const auto registry = backend::BackendRegistry::discover();
    runtime::ThreadDrivers drivers;
    runtime::Engine engine(registry, drivers, this_machine());
    runtime::LoadRequest loaded;
    loaded.executable = executable;
    const auto sink = value_of(engine.sink(value_of(engine.load(loaded))));
    const auto here = [&] {
      runtime::Request request;
      request.inputs = {{x, kIn, ir::ElementType::kF32, dims}};
      request.outputs = {{y, kOut}};
      check(runtime::infer(*sink, std::move(request)).errors.to_status());
    };
    const auto there = [&](void* from, const rpc::client::InferOptions& how) {
      const terms::TensorView view = {from, kIn, ir::ElementType::kF32, dims};
      value_of(client_->infer(model, {{"x", view}}, how));
    };
    const auto [local, remote] = compare(
        here, [&] { there(x, options); }, 100);
    fmt::print("600 KB in, 4 KB out    {:8.1f} us, in process {:.1f} us (at most {:.1f})\n", remote,
               local, 1.15 * local + 60);
    const auto [again, copied] = compare(
        here, [&] { there(unshared.data(), {}); }, 100);
    fmt::print("the same, not shared   {:8.1f} us, in process {:.1f} us\n", copied, again);
    check(nobody_->unload(model));
  }

  void flood() {
    const std::uint64_t model = load(*mlp("1", 64, 64), 64);
    const v1::InferRequest request = request_of(model, {1, 64}, 256);
    for (int round = 0; round < 3; ++round) {
      const double echo = flood_grpc(*echo_stub_, request);
      const double unary = flood_grpc(*stub_, request);
      const double ring = flood_ring(fmt::format("{}/sluice.sock.side", folder_), model);
      fmt::print("64 in flight, MLP      {:8.0f} /s over gRPC, echo {:.0f} /s, ring {:.0f} /s\n",
                 unary, echo, ring);
    }
    check(nobody_->unload(model));
  }

  /// One model at a time: all have the machine's only cores.
  void batches() {
    for (const auto& [inputs, hidden] : {std::pair{64, 64}, {784, 512}, {784, 1024}}) {
      const v1::InferRequest request =
          request_of(0, {1, inputs}, static_cast<std::size_t>(inputs) * 4);
      const auto executable = mlp("N", inputs, hidden);
      std::vector<double> alone;
      std::vector<double> joined;
      for (int round = 0; round < 3; ++round) {
        alone.push_back(flood_model(*executable, request, {}));
        joined.push_back(flood_model(*executable, request, terms::BatchOptions{32, 0}));
      }
      const double one = median(alone);
      const double many = median(joined);
      fmt::print("64 in flight, {}-{}-{}-10: {:8.0f} /s alone, {:8.0f} /s joined: {:.2f}\n", inputs,
                 hidden, hidden, one, many, many / one);
    }
  }

  double flood_model(const package::Executable& executable, v1::InferRequest request,
                     const std::optional<terms::BatchOptions>& batching) {
    const std::uint64_t model = load(executable, 2, batching);
    request.set_model(model);
    const double per_second = flood_grpc(*stub_, request);
    check(nobody_->unload(model));
    return per_second;
  }

  const std::string folder_;
  const Process echo_;
  const Process daemon_;
  std::unique_ptr<rpc::client::Client> client_;
  std::unique_ptr<rpc::client::Client> nobody_;
  std::unique_ptr<v1::Runtime::Stub> echo_stub_;
  std::unique_ptr<v1::Runtime::Stub> stub_;
};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) { sluice::bench::Bench().run(argc > 1 ? argv[1] : ""); }
