#include <chrono>
#include <fstream>
#include <thread>

#include "base/text/plural.h"
#include "runtime/profile/profiler.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"
#include "sluice/remote/watch/trace.h"

namespace sluice::tool {
namespace {

class TimelineCommand : public Command {
 public:
  const char* name() const override { return "timeline"; }

  void add_options(Options& options) override {
    Option model = options.add("--model", model_, "Record only this model: handle or name");
    options.add("--group", group_, "Record only what runs on the group with this handle")
        .excludes(model);
    Option seconds = options.add("--seconds", seconds_, "Seconds to record")
                         .shows_default()
                         .between(0.001, 3600.0);
    options.add("--spans", spans_, "Maximum number of spans; the recording drops older ones")
        .shows_default()
        .between(std::int64_t{1}, runtime::Profiler::kMaxSpans);
    options.add("-o,--output", output_, "File for the timeline").shows_default();
    Option start = options.flag(
        "--start", is_start_,
        "Start a recording and print its number; it ends after ten minutes, or by --stop");
    options.add("--stop", stopped_, "End the recording with this number and write it")
        .excludes(start)
        .excludes(seconds);
    start.excludes(seconds);
    remote_.add_to(options);
  }

  Result<int> run() override {
    const auto client = SLUICE_TRY(remote_.connect());
    if (stopped_ > 0) return write(SLUICE_TRY(client->stop_profile(stopped_)));
    terms::ProfileSettings settings;
    settings.max_spans = spans_;
    if (!model_.empty())
      settings.model = terms::ModelHandle(SLUICE_TRY(find_model(*client, model_)));
    if (group_ != 0) settings.group = terms::CoreGroupId(group_);
    if (is_start_) return start(*client, settings);
    // The session takes the profile with it, should this be interrupted.
    SLUICE_TRY(client->open_session("sluice timeline"));
    const std::uint64_t profile = SLUICE_TRY(client->start_profile(settings));
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
    return write(SLUICE_TRY(client->stop_profile(profile)));
  }

 private:
  Result<int> start(rpc::client::Client& client, const terms::ProfileSettings& settings) const {
    const std::uint64_t profile = SLUICE_TRY(client.start_profile(settings));
    if (remote_.is_json) {
      print_json("profile", profile);
    } else {
      fmt::print("{}\n", profile);
    }
    return 0;
  }

  Result<int> write(const terms::Profile& profile) const {
    std::ofstream file(output_, std::ios::binary | std::ios::trunc);
    write_trace(profile, file);
    file.close();
    if (!file) {
      return make_error(Code::kUnavailable, "the timeline cannot be written to \"{}\"", output_);
    }
    if (remote_.is_json) {
      print_json("spans", profile.spans.size());
    } else {
      fmt::print("{}: {} of {}; open it at ui.perfetto.dev\n", output_,
                 counted(profile.spans.size(), "span"), counted(profile.models.size(), "model"));
    }
    if (profile.num_dropped > 0) {
      fmt::print(stderr,
                 "{} made room for these; record for less long, only one "
                 "model, or more of them with --spans\n",
                 counted(profile.num_dropped, "older span"));
    }
    return 0;
  }

  RemoteOptions remote_;
  std::string model_;
  std::int32_t group_ = 0;
  double seconds_ = 5;
  std::int64_t spans_ = runtime::ProfileOptions().max_spans;
  std::string output_ = "timeline.json";
  bool is_start_ = false;
  std::uint64_t stopped_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_timeline_command() { return std::make_unique<TimelineCommand>(); }

}  // namespace sluice::tool
