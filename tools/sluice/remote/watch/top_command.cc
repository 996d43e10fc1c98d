#include <chrono>
#include <thread>

#include "options/seconds.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"
#include "sluice/remote/watch/snapshot.h"
#include "sluice/remote/watch/terminal.h"
#include "sluice/remote/watch/top_frame.h"

namespace sluice::tool {
namespace {

/// The first frame covers a short interval, so that it appears soon.
constexpr double kFirstSeconds = 0.25;

class TopCommand : public Command {
 public:
  const char* name() const override { return "top"; }

  void add_options(Options& options) override {
    options.add("--interval", interval_seconds_, "Seconds between two frames")
        .shows_default()
        .between(0.05, 3600.0);
    options.flag("--once", is_once_, "Print one frame as plain text, and end");
    remote_.add_connection_to(options);
  }

  Result<int> run() override { return is_once_ ? print_once() : watch(); }

 private:
  std::vector<FrameLine> draw(const activity::Snapshot& before,
                              const activity::Snapshot& now) const {
    const TerminalSize size = terminal_size();
    return draw_frame(remote_.client.address, now, activity_between(before, now), size.width,
                      is_once_ ? std::size_t{100'000} : size.height);
  }

  Result<int> print_once() const {
    const auto client = SLUICE_TRY(remote_.connect());
    const activity::Snapshot before = SLUICE_TRY(take_snapshot(*client));
    std::this_thread::sleep_for(std::chrono::duration<double>(interval_seconds_));
    for (const FrameLine& line : draw(before, SLUICE_TRY(take_snapshot(*client)))) {
      fmt::print("{}\n", line.text);
    }
    return 0;
  }

  Result<int> watch() const {
    const auto terminal = SLUICE_TRY(Terminal::open());  // before there are threads
    const auto client = SLUICE_TRY(remote_.connect());
    activity::Snapshot before = SLUICE_TRY(take_snapshot(*client));
    activity::Snapshot now = before;
    double seconds = std::min(kFirstSeconds, interval_seconds_);
    while (true) {
      const auto event = terminal->wait(nanoseconds_of(seconds));
      if (event == Terminal::Event::kQuit) return 0;
      if (event == Terminal::Event::kTimeout) {
        before = std::exchange(now, SLUICE_TRY(take_snapshot(*client)));
        seconds = interval_seconds_;
      }
      terminal->show(draw(before, now));
    }
  }

  RemoteOptions remote_;
  double interval_seconds_ = 1;
  bool is_once_ = false;
};

}  // namespace

std::unique_ptr<Command> make_top_command() { return std::make_unique<TopCommand>(); }

}  // namespace sluice::tool
