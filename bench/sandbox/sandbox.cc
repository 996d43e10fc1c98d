// Functions of a daemon beside fresh processes: how long a first answer takes, and how functions
// divide the time of a lane.
//
//     sandbox MODEL.sluice [FUNCTIONS [STARTS]]
#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>

#include "../rpc/programs.h"
#include "base/clock.h"
#include "replay.h"
#include "shares.h"

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDivisionNs = 3'000'000'000;

template <typename T>
T value_of(Result<T> result) {
  if (result.is_ok()) return std::move(*result);
  fmt::print(stderr, "sandbox: {}\n", result.status().to_string());
  std::exit(1);
}

void check(const Status& status) {
  if (status.is_ok()) return;
  fmt::print(stderr, "sandbox: {}\n", status.to_string());
  std::exit(1);
}

struct Setup {
  std::string model;
  std::string folder;
  std::string address;
  std::int64_t num_functions = 10;
  std::int64_t num_starts = 50;
};

std::unique_ptr<rpc::client::Client> connect(const Setup& setup) {
  rpc::client::ClientOptions options;
  options.address = setup.address;
  return value_of(rpc::client::Client::create(options));
}

/// Zeros for every input.
class Inputs {
 public:
  explicit Inputs(const terms::Signature& signature) {
    for (const terms::TensorSpec& spec : signature.inputs) {
      const auto dims = spec.type.static_dims();
      if (!dims) check(invalid_argument("input \"{}\" has no static shape", spec.name));
      terms::TensorView view;
      view.element = spec.type.element();
      view.dims = *dims;
      const auto count = ir::num_elements(*spec.type.shape());
      view.size_bytes = ir::storage_bytes(view.element, count.value_or(0)).value_or(0);
      std::vector<std::byte>& bytes = bytes_[spec.name];
      bytes.resize(static_cast<std::size_t>(view.size_bytes));
      view.data = bytes.data();
      tensors.push_back({spec.name, std::move(view)});
    }
  }
  std::vector<terms::NamedTensor> tensors;

 private:
  std::map<std::string, std::vector<std::byte>> bytes_;
};

std::vector<std::int64_t> measure(std::int64_t count, const std::function<void()>& prepare,
                                  const std::function<void()>& work) {
  std::vector<std::int64_t> durations_ns;
  for (std::int64_t i = 0; i < count; ++i) {
    prepare();
    const std::int64_t start_ns = system_clock().now_ns();
    work();
    durations_ns.push_back(system_clock().now_ns() - start_ns);
  }
  return durations_ns;
}

/// `sluice run MODEL` with zeros, from its start to its end.
void run_process(const Setup& setup, const Inputs& inputs) {
  static const std::string program =
      (fs::canonical("/proc/self/exe").parent_path().parent_path() / "bin/sluice").string();
  std::vector<std::string> words = {program, "run", setup.model};
  for (const terms::NamedTensor& input : inputs.tensors) {
    words.insert(words.end(), {"--input", input.name + "=zeros"});
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int error =
      posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = error;
  if (error == 0) waitpid(child, &status, 0);
  if (status != 0) {
    fmt::print(stderr, "sandbox: `sluice run` ended with {}\n", status);
    std::exit(1);
  }
}

void print_row(std::string_view name, const std::vector<std::int64_t>& durations_ns) {
  fmt::print("| {} | {:.2f} | {:.2f} |\n", name,
             static_cast<double>(quantile(durations_ns, 0.5)) / 1e6,
             static_cast<double>(quantile(durations_ns, 0.99)) / 1e6);
}

void compare_starts(const Setup& setup, std::uint64_t function, const Inputs& inputs) {
  const auto control = connect(setup);
  const auto first_answer = [&] {
    const auto client = connect(setup);  // a connection is a part of the start
    value_of(client->infer(function, inputs.tensors));
  };
  const auto process = measure(
      setup.num_starts, [] {}, [&] { run_process(setup, inputs); });
  const auto cold = measure(
      setup.num_starts, [&] { check(control->stop(function)); }, first_answer);
  const auto warm = measure(
      setup.num_starts, [] {}, first_answer);
  fmt::print("\nFrom a connection to the first answer, {} times:\n\n| start | p50 ms | p99 ms |\n",
             setup.num_starts);
  fmt::print("|---|--:|--:|\n");
  print_row("process of its own, `sluice run`", process);
  print_row("deployed function, cold", cold);
  print_row("deployed function, warm", warm);
  const auto ratio = [&](const std::vector<std::int64_t>& ours) {
    return static_cast<double>(quantile(process, 0.5)) / static_cast<double>(quantile(ours, 0.5));
  };
  fmt::print(
      "\nA process takes {:.1f} times as long as a cold function, {:.1f} times a warm one.\n",
      ratio(cold), ratio(warm));
}

void divide_time(const Setup& setup, const Inputs& inputs) {
  const auto client = connect(setup);
  terms::LoadOptions options;
  std::vector<std::uint64_t> functions;
  for (const std::int32_t share : {1, 2, 5}) {
    options.name = fmt::format("share {}", share);
    options.function = terms::FunctionOptions{.share = share};
    functions.push_back(value_of(client->upload(options, setup.model)).info.handle);
  }
  const auto division =
      divide([&] { return connect(setup); }, functions, inputs.tensors, kDivisionNs);
  fmt::print(
      "\nA lane with 4 callers of each function, busy {:.0f} % of the time (shares decide where "
      "functions wait):\n\n",
      100 * division.busy);
  fmt::print("| share | wanted | measured |\n|---|--:|--:|\n");
  for (const Division::Part& one : division.parts) {
    fmt::print("| {:.0f} | {:.1f} % | {:.1f} % |\n", one.wanted * 8, 100 * one.wanted,
               100 * one.measured);
  }
  for (const std::uint64_t function : functions) check(client->unload(function));
}

void run(Setup setup) {
  std::string pattern = (fs::temp_directory_path() / "sluice-sandbox-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) std::exit(1);
  setup.folder = pattern;
  setup.address = "unix:" + setup.folder + "/sluice.sock";
  const Process daemon = start_daemon(setup.folder);
  const auto client = connect(setup);
  terms::LoadOptions options;
  options.function = terms::FunctionOptions();
  std::vector<std::uint64_t> functions;
  std::optional<Inputs> inputs;
  for (std::int64_t i = 0; i < setup.num_functions; ++i) {
    options.name = fmt::format("f{}", i);
    const auto entry = value_of(client->upload(options, setup.model));
    if (!inputs) inputs.emplace(entry.signature);
    functions.push_back(entry.info.handle);
  }
  compare_starts(setup, functions.front(), *inputs);
  divide_time(setup, *inputs);
  fs::remove_all(setup.folder);
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: sandbox MODEL.sluice [FUNCTIONS [STARTS]]\n");
    return 2;
  }
  sluice::bench::Setup setup;
  setup.model = argv[1];
  if (argc > 2) setup.num_functions = std::max(1LL, std::atoll(argv[2]));
  if (argc > 3) setup.num_starts = std::max(1LL, std::atoll(argv[3]));
  sluice::bench::run(std::move(setup));
}
