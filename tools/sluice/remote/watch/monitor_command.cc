#include <chrono>
#include <cstdio>
#include <thread>

#include "base/log/wall_time.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"
#include "sluice/remote/watch/snapshot.h"

namespace sluice::tool {
namespace {

class MonitorCommand : public Command {
 public:
  const char* name() const override { return "monitor"; }

  void add_options(Options& options) override {
    options.add("--interval", interval_seconds_, "Seconds that a line covers")
        .shows_default()
        .between(0.01, 86400.0);
    options.add("--count", count_, "End after so many lines; 0 goes on until interrupted")
        .shows_default()
        .at_least(0);
    remote_.add_connection_to(options);
  }

  /// Ends, too, when nobody reads any more.
  Result<int> run() override {
    const auto client = SLUICE_TRY(remote_.connect());
    activity::Snapshot before = SLUICE_TRY(take_snapshot(*client));
    for (std::int64_t i = 0; count_ == 0 || i < count_; ++i) {
      std::this_thread::sleep_for(std::chrono::duration<double>(interval_seconds_));
      activity::Snapshot now = SLUICE_TRY(take_snapshot(*client));
      const std::string line =
          activity_line(now, activity_between(before, now), unix_time_s()) + "\n";
      if (std::fputs(line.c_str(), stdout) == EOF || std::fflush(stdout) != 0) return 0;
      before = std::move(now);
    }
    return 0;
  }

 private:
  RemoteOptions remote_;
  double interval_seconds_ = 1;
  std::int64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_monitor_command() { return std::make_unique<MonitorCommand>(); }

}  // namespace sluice::tool
