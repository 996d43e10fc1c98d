#include "sluice/commands/run_profile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <vector>

#include "base/text/plural.h"
#include "ir/source.h"
#include "sluice/model/xml_text.h"

namespace sluice::tool {
namespace {

using backend::StepTime;
using exec::ListTime;

// A flame has three rows per stream:
//
//     cpu:0 stream 1                    caption
//     | list 0      | | list 1    |     command lists
//     | Conv | copy | | MatMul    |     their steps
constexpr int kFlameWidth = 1200;
constexpr int kRowHeight = 22;
constexpr int kStreamHeight = 3 * kRowHeight;  ///< a caption, lists, steps

std::string label_of(const ListTime& list) {
  return fmt::format("{}:{} stream {}", list.backend, list.device, list.stream);
}

std::string name_of(const StepTime& step) {
  return step.name.empty() ? step.kind : step.kind + " " + step.name;
}

std::int64_t first_ns(std::span<const ListTime> lists) {
  const auto first = std::ranges::min_element(lists, {}, &ListTime::start_ns);
  return first == lists.end() ? 0 : first->start_ns;
}

std::int64_t last_ns(std::span<const ListTime> lists) {
  const auto last = std::ranges::max_element(lists, {}, &ListTime::end_ns);
  return last == lists.end() ? 0 : last->end_ns;
}

/// A box over `start_ns` to `end_ns` with its name, if that fits, and a title.
std::string flame_box(const std::string& name, std::int64_t start_ns, std::int64_t end_ns, int top,
                      double pixels_per_ns, std::string_view colour) {
  const double left = static_cast<double>(start_ns) * pixels_per_ns;
  const double width = std::max(0.5, static_cast<double>(end_ns - start_ns) * pixels_per_ns);
  // A letter is about seven pixels wide. Names of one or two letters would say nothing.
  const auto letters = static_cast<std::size_t>(width / 7);
  const std::string shown = letters < 3 ? "" : xml_text(name.substr(0, letters));
  return fmt::format(
      "<g><title>{0}: {1:.1f} us</title><rect x=\"{2:.2f}\" y=\"{3}\" width=\"{4:.2f}\" "
      "height=\"{5}\" fill=\"{6}\" stroke=\"white\" stroke-width=\"0.3\"/><text x=\"{7:.2f}\" "
      "y=\"{8}\">{9}</text></g>\n",
      xml_text(name), static_cast<double>(end_ns - start_ns) / 1e3, left, top, width,
      kRowHeight - 2, colour, left + 2, top + kRowHeight - 7, shown);
}

/// Steps of all lists; a list without steps is one itself.
std::vector<StepTime> steps_of(std::span<const ListTime> lists) {
  std::vector<StepTime> steps;
  for (const ListTime& list : lists) {
    steps.insert(steps.end(), list.steps.begin(), list.steps.end());
    if (!list.steps.empty()) continue;
    steps.push_back(
        {"list of " + list.backend, list.name, list.start_ns, list.end_ns - list.start_ns});
  }
  return steps;
}

}  // namespace

std::string profile_table(std::span<const ListTime> lists, const ir::Graph& graph) {
  std::vector<StepTime> steps = steps_of(lists);
  std::ranges::stable_sort(steps, std::greater<>(), &StepTime::duration_ns);
  std::int64_t total_ns = 0;
  std::int64_t generic_ns = 0;
  for (const StepTime& step : steps) {
    total_ns += step.duration_ns;
    if (step.kind.ends_with(" (generic)")) generic_ns += step.duration_ns;
  }
  const auto percent = [&](std::int64_t ns) {
    return 100.0 * static_cast<double>(ns) /
           static_cast<double>(std::max<std::int64_t>(total_ns, 1));
  };
  std::string text = fmt::format("{:>9} {:>6}  {:<24} {:<32} source\n", "us", "%", "step", "name");
  for (const StepTime& step : steps) {
    const std::string* source = ir::find_source(graph, step.name);
    text += fmt::format("{:>9.1f} {:>6.1f}  {:<24} {:<32} {}\n",
                        static_cast<double>(step.duration_ns) / 1e3, percent(step.duration_ns),
                        step.kind, step.name, source == nullptr ? "" : *source);
  }
  if (generic_ns > 0) {
    text += fmt::format("{:>9.1f} {:>6.1f}  by generic kernels\n",
                        static_cast<double>(generic_ns) / 1e3, percent(generic_ns));
  }
  return text + fmt::format("{:>9.1f} {:>6}  {} in {}\n", static_cast<double>(total_ns) / 1e3, "",
                            counted(steps.size(), "step"), counted(lists.size(), "command list"));
}

/// The format of chrome://tracing: complete events ("X") in microseconds, and metadata ("M") that
/// names the threads, here streams.
std::string profile_trace(std::span<const ListTime> lists) {
  using nlohmann::ordered_json;
  const std::int64_t start_ns = first_ns(lists);
  ordered_json events = ordered_json::array();
  std::map<std::size_t, std::string> streams;
  const auto add = [&](const std::string& name, std::size_t stream, std::int64_t at_ns,
                       std::int64_t duration_ns) {
    events.push_back({{"ph", "X"},
                      {"name", name},
                      {"ts", static_cast<double>(at_ns - start_ns) / 1e3},
                      {"dur", static_cast<double>(duration_ns) / 1e3},
                      {"pid", 1},
                      {"tid", stream}});
  };
  for (const ListTime& list : lists) {
    streams.emplace(list.stream, label_of(list));
    add(list.name, list.stream, list.start_ns, list.end_ns - list.start_ns);
    for (const StepTime& step : list.steps) {
      add(name_of(step), list.stream, step.start_ns, step.duration_ns);
    }
  }
  for (const auto& [stream, label] : streams) {
    events.push_back({{"ph", "M"},
                      {"name", "thread_name"},
                      {"pid", 1},
                      {"tid", stream},
                      {"args", {{"name", label}}}});
  }
  const ordered_json trace = {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  return trace.dump(1, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace) + "\n";
}

std::string profile_flame(std::span<const ListTime> lists) {
  const std::int64_t start_ns = first_ns(lists);
  const double length_ns =
      static_cast<double>(std::max<std::int64_t>(last_ns(lists) - start_ns, 1));
  const double pixels_per_ns = kFlameWidth / length_ns;
  std::map<std::size_t, int> rows;
  for (const ListTime& list : lists) rows.emplace(list.stream, 0);
  int height = 0;
  for (auto& [stream, top] : rows) {
    top = height;
    height += kStreamHeight;
  }
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"11\">\n",
      kFlameWidth, height);
  std::map<std::size_t, bool> has_caption;
  for (const ListTime& list : lists) {
    const int top = rows[list.stream];
    if (!std::exchange(has_caption[list.stream], true)) {
      text += fmt::format("<text x=\"2\" y=\"{}\" font-weight=\"bold\">{}</text>\n",
                          top + kRowHeight - 7, xml_text(label_of(list)));
    }
    text += flame_box(list.name, list.start_ns - start_ns, list.end_ns - start_ns, top + kRowHeight,
                      pixels_per_ns, "#cfe3f7");
    for (const StepTime& step : list.steps) {
      const std::int64_t at_ns = step.start_ns - start_ns;
      const bool is_copy = step.kind == "copy";
      text += flame_box(name_of(step), at_ns, at_ns + step.duration_ns, top + 2 * kRowHeight,
                        pixels_per_ns, is_copy ? "#fbe0c3" : "#d5efd2");
    }
  }
  return text + "</svg>\n";
}

}  // namespace sluice::tool
