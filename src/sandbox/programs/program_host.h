// The programs of functions, as the models of a host.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/table_host.h"
#include "sandbox/programs/device_proxy.h"
#include "sandbox/programs/program_model.h"

namespace sluice::sandbox {

struct ProgramHostOptions {
  /// Words before a program: a file that starts the rest of them as ProgramProcess wants it, and
  /// as a guest of the proxy that listens at its last argument, which the host adds.
  std::vector<std::string> launcher;
  /// The same before a proxy; the host adds "--socket PATH --memory BYTES".
  std::vector<std::string> proxy;
  uid_t user = 0;  ///< of the programs, for the proxy's socket
  gid_t group = 0;
};

/// Loads programs of LoadRequest::function. A load starts the program's first process, and an
/// unload ends all of them. Programs with the same quota of device memory are guests of one proxy,
/// which the first of them starts and the last one ends.
///
/// A model host for lanes (LaneHost). Safe from any thread. Every Status has a RuntimeCode.
class ProgramHost final : public runtime::TableHost<ProgramModel> {
 public:
  ProgramHost(ProgramHostOptions options, Clock& clock)
      : TableHost(runtime::HandleKind::kEngine, "program", "no longer"),
        options_(std::move(options)),
        clock_(clock) {}
  ~ProgramHost() override;

  Clock& clock() override { return clock_; }
  /// Fails: kInvalid without a program; kFailed where it, or its proxy, does not start.
  Result<terms::ModelHandle> load(const runtime::LoadRequest& request,
                                  const std::stop_token& stop) override;
  // A loaded program takes requests.
  Status start(terms::ModelHandle handle) override { return find(handle).status(); }
  Status stop(terms::ModelHandle handle, std::int64_t /*drain_deadline_ns*/) override {
    return find(handle).status();
  }
  Status unload(terms::ModelHandle handle, std::int64_t drain_deadline_ns) override;

  Result<runtime::ModelStatisticsSnapshot> statistics(terms::ModelHandle handle) const override;
  Result<std::shared_ptr<runtime::RequestSink>> sink(terms::ModelHandle handle) const override;
  void shutdown(std::int64_t drain_deadline_ns) override;

 private:
  terms::ModelInfo describe(std::uint64_t handle, const ProgramModel& model) const override;
  Result<std::shared_ptr<DeviceProxy>> proxy_with(std::int64_t quota_bytes);
  Result<std::shared_ptr<ProgramModel>> start_model(const runtime::LoadRequest& request);
  Result<std::filesystem::path> folder();

  const ProgramHostOptions options_;
  Clock& clock_;
  std::mutex proxies_mutex_;      ///< guards the next two; held while a proxy starts
  std::filesystem::path folder_;  ///< of sockets; empty before the first
  std::map<std::int64_t, std::weak_ptr<DeviceProxy>> proxies_;  ///< by quota
};

}  // namespace sluice::sandbox
