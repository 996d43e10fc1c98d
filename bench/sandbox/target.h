// Where a load is sent: functions of a daemon, or processes of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "package/executable.h"

namespace sluice::bench {

/// One function of a load.
struct LoadFunction {
  std::string name;
  std::string onnx;     ///< path, for onnxruntime
  std::string package;  ///< path, compiled from it
  terms::Signature signature;
};

/// `dims` of the signature, with 1 for symbols; zeros as values.
std::vector<std::int64_t> dims_of(const terms::TensorSpec& spec);
std::int64_t bytes_of(const terms::TensorSpec& spec);

struct TargetAnswer {
  std::size_t request = 0;
  bool is_ok = false;
};

/// Takes requests without waiting for answers. One thread sends, another takes answers.
class Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  virtual ~Target() = default;

  /// Before the first request, and again after the last answer of a load.
  virtual Status open() = 0;
  /// Requires: `function` is an index of the load's functions.
  virtual Status send(std::size_t request, std::size_t function) = 0;
  /// No more requests.
  virtual void close() = 0;
  /// Blocks. None after the last answer.
  virtual Result<std::optional<TargetAnswer>> next() = 0;
};

struct DaemonOptions {
  bool are_functions = true;    ///< of the daemon's lanes; else models that take turns on cores
  bool uses_ring = true;        ///< one ring in shared memory; else one gRPC stream
  std::int32_t batch_rows = 0;  ///< of functions: most waiting requests that run as one; 0: none
};

/// Deploys each function in the daemon.
Result<std::unique_ptr<Target>> daemon_target(const std::string& address,
                                              const std::vector<LoadFunction>& functions,
                                              const DaemonOptions& options);

/// Deploys the function if the daemon at `address` has none of its name, makes it cold or warm, and
/// returns a start: it connects and asks for one answer.
Result<std::function<Status()>> prepare_daemon_start(const std::string& address,
                                                     const LoadFunction& function, bool is_cold);

struct ProcessOptions {
  std::string python;      ///< program that runs `server`
  std::string server;      ///< bench/harness/function_process.py
  std::string program;     ///< bench/function_process, for the engine "cpp"
  std::string engine;      ///< "onnxruntime" or "sluice", in Python; "cpp", Sluice in C++
  int batch_rows = 0;      ///< as of DaemonOptions: what has arrived runs as one
  bool is_shared = false;  ///< one process for all functions, which serves requests as they come
  /// Time without requests after which a process ends; below 0: all start ahead and none ends.
  std::int64_t keep_ns = -1;
  std::size_t max_processes =
      1'000'000;  ///< at a time; the least recently used idle one makes room
};

/// A process per function that serves its requests in order; started by a request that finds none.
Result<std::unique_ptr<Target>> process_target(const std::vector<LoadFunction>& functions,
                                               const ProcessOptions& options);

}  // namespace sluice::bench
