#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include "sluice/model/xml_text.h"
#include "sluice/remote/plan/plan_report.h"

namespace sluice::tool {
namespace {

using fleet::PlanRow;

// Pixels.
constexpr double kWidth = 640;
constexpr double kHeight = 200;
constexpr double kLeft = 80;
constexpr double kGap = 60;  ///< around and between plots

/// A plot's place and scale. The numbers of machines go up by the same factor per pixel.
struct Axes {
  double top = 0;
  double first = 1;
  double last = 1;
  double most = 1;  ///< of the values

  double x(double machines) const {
    if (last == first) return kLeft + kWidth / 2;
    return kLeft + kWidth * std::log(machines / first) / std::log(last / first);
  }
  double y(double value) const { return top + kHeight * (1 - std::min(value / most, 1.0)); }
};

struct Line {
  std::string_view name;
  std::string_view colour;
  std::function<double(const PlanRow&)> value;
};

std::string frame(const Axes& axes, std::string_view title, const std::string& most,
                  std::span<const PlanRow> rows) {
  std::string svg = fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#999\"/>\n"
      "<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>\n"
      "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n"
      "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">0</text>\n",
      kLeft, axes.top, kWidth, kHeight, kLeft, axes.top - 8, title, kLeft - 6, axes.top + 10, most,
      kLeft - 6, axes.top + kHeight);
  double last_x = 0;
  for (const PlanRow& row : rows) {
    const double x = axes.x(row.num_machines);
    if (x - last_x < 44) continue;  // numbers side by side must stay apart
    last_x = x;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x,
                       axes.top + kHeight + 18, row.num_machines);
  }
  return svg;
}

std::string draw(const Axes& axes, const Line& line, std::span<const PlanRow> rows, int number) {
  std::string points;
  std::string dots;
  for (const PlanRow& row : rows) {
    const double x = axes.x(row.num_machines);
    const double y = axes.y(line.value(row));
    points += fmt::format("{:.1f},{:.1f} ", x, y);
    dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x, y,
                        line.colour);
  }
  return fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n{}"
      "<text x=\"{}\" y=\"{}\" fill=\"{}\" text-anchor=\"end\">{}</text>\n",
      points, line.colour, dots, kLeft + kWidth - 8 - number * 60.0, axes.top + 16, line.colour,
      line.name);
}

std::string goal_line(const Axes& axes, double value) {
  return fmt::format(
      "<path d=\"M{} {:.1f}h{}\" stroke=\"#b00\" stroke-dasharray=\"5 4\"/>\n"
      "<text x=\"{}\" y=\"{:.1f}\" fill=\"#b00\">goal</text>\n",
      kLeft, axes.y(value), kWidth, kLeft + 6, axes.y(value) - 4);
}

std::string plot(Axes axes, std::string_view title, std::span<const Line> lines, double goal,
                 std::span<const PlanRow> rows, const std::function<std::string(double)>& write) {
  axes.most = goal > 0 ? 2 * goal : 0;
  for (const PlanRow& row : rows) {
    for (const Line& line : lines) axes.most = std::max(axes.most, line.value(row));
  }
  if (goal > 0)
    axes.most = std::min(axes.most, 8 * goal);  // what overload gives would hide the goal
  if (axes.most == 0) axes.most = 1;
  std::string svg = frame(axes, title, write(axes.most), rows);
  for (int i = 0; const Line& line : lines) svg += draw(axes, line, rows, i++);
  return goal > 0 ? svg + goal_line(axes, goal) : svg;
}

/// The origin, a fact a line.
std::string caption(const PlanOrigin& origin, double top) {
  std::string svg;
  std::string_view rest;
  const std::string text = origin.to_string();
  for (rest = text; !rest.empty(); top += 18) {
    const std::size_t end = std::min(rest.find("; "), rest.size());
    svg += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", kLeft, top,
                       xml_text(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return svg;
}

}  // namespace

std::string draw_plan(std::span<const PlanRow> rows, const PlanOrigin& origin) {
  Axes axes;
  axes.first = rows.front().num_machines;
  axes.last = rows.back().num_machines;
  axes.top = kGap;
  const std::vector<Line> latencies = {
      {"p99", "#1f5fa8",
       [](const PlanRow& row) { return static_cast<double>(row.figures.p99_ns); }},
      {"p50", "#6aa84f",
       [](const PlanRow& row) { return static_cast<double>(row.figures.p50_ns); }}};
  const std::vector<Line> shares = {
      {"shed", "#c27c0e", [](const PlanRow& row) { return row.figures.shed; }},
      {"busy", "#777777", [](const PlanRow& row) { return row.utilisation; }}};
  const double height = 2 * (kHeight + kGap) + kGap + 120;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"sans-serif\" font-size=\"13\">\n",
      kLeft + kWidth + kGap, height);
  svg += plot(axes, "Latency over machines", latencies, static_cast<double>(origin.goal.p99_ns),
              rows, [](double ns) { return fmt::format("{:.3g} ms", ns / 1e6); });
  axes.top += kHeight + kGap;
  svg += plot(axes, "Share of requests shed, and of time busy", shares, 0, rows,
              [](double share) { return fmt::format("{:.0f} %", 100 * share); });
  return svg + caption(origin, axes.top + kHeight + 50) + "</svg>\n";
}

}  // namespace sluice::tool
