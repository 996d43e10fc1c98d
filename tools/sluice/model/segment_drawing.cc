#include "sluice/model/segment_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/text/plural.h"
#include "sluice/model/xml_text.h"

namespace sluice::tool {
namespace {

// Pixels.
constexpr int kBoxWidth = 320;
constexpr int kBoxHeight = 56;
constexpr int kStep = 100;  ///< from the top of a box to that of the next
constexpr int kMargin = 20;
constexpr int kBow = 24;  ///< width that an arrow past one further segment takes beside the boxes

/// The same colour for the same backend in one drawing.
std::string_view colour_of(const std::string& backend, std::vector<std::string>& seen) {
  constexpr std::array<std::string_view, 6> kColours = {"#cfe3f7", "#fbe0c3", "#d5efd2",
                                                        "#eedcf5", "#fbd3d3", "#ececec"};
  const auto found = std::ranges::find(seen, backend);
  const auto index = static_cast<std::size_t>(found - seen.begin());
  if (found == seen.end()) seen.push_back(backend);
  return kColours[index % kColours.size()];
}

int top_of(std::size_t segment) { return kMargin + static_cast<int>(segment) * kStep; }

std::string box(const compile::SegmentSummary& segment, std::size_t index,
                std::string_view colour) {
  const int top = top_of(index);
  const std::string cost =
      segment.cost_ns > 0 ? fmt::format(", about {:.3f} ms", segment.cost_ns / 1e6) : "";
  return fmt::format(
      "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" rx=\"6\" fill=\"{4}\" "
      "stroke=\"#555\"/>\n<text x=\"{5}\" y=\"{6}\" font-weight=\"bold\">{7}</text>\n"
      "<text x=\"{5}\" y=\"{8}\">{9}: {10}{11}</text>\n",
      kMargin, top, kBoxWidth, kBoxHeight, colour, kMargin + 12, top + 23, xml_text(segment.name),
      top + 43, xml_text(segment.backend.empty() ? "executor" : segment.backend),
      counted(segment.num_operations, "operation"), cost);
}

/// Straight down to the next segment, else in a bow on the right.
std::string arrow(const compile::SegmentEdge& edge) {
  const std::string label = fmt::format("{}, {:.1f} kB", counted(edge.num_tensors, "tensor"),
                                        static_cast<double>(edge.size_bytes) / 1e3);
  const int start = top_of(edge.from) + kBoxHeight;
  const int end = top_of(edge.to);
  if (edge.to == edge.from + 1) {
    const int x = kMargin + kBoxWidth / 2;
    return fmt::format(
        "<path d=\"M{0} {1}V{2}\" fill=\"none\" stroke=\"#555\" marker-end=\"url(#head)\"/>\n"
        "<text x=\"{3}\" y=\"{4}\">{5}</text>\n",
        x, start, end - 2, x + 10, (start + end) / 2 + 5, label);
  }
  const int right = kMargin + kBoxWidth;
  const int bow = right + kBow * static_cast<int>(std::min<std::size_t>(edge.to - edge.from, 8));
  return fmt::format(
      "<path d=\"M{0} {1}C{2} {1} {2} {3} {0} {3}\" fill=\"none\" stroke=\"#999\" "
      "marker-end=\"url(#head)\"><title>{4}</title></path>\n",
      right, start - kBoxHeight / 2, bow, end + kBoxHeight / 2, label);
}

}  // namespace

std::string draw_segments(const compile::Explanation& explanation) {
  const int width = 2 * kMargin + kBoxWidth + 8 * kBow;
  const int height = top_of(explanation.segments.size()) - kStep + kBoxHeight + kMargin;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"13\">\n"
      "<defs><marker id=\"head\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\" "
      "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#555\"/></marker></defs>\n",
      width, std::max(height, 2 * kMargin));
  std::vector<std::string> seen;
  for (const compile::SegmentEdge& edge : explanation.edges) svg += arrow(edge);
  for (std::size_t i = 0; i < explanation.segments.size(); ++i) {
    svg += box(explanation.segments[i], i, colour_of(explanation.segments[i].backend, seen));
  }
  return svg + "</svg>\n";
}

}  // namespace sluice::tool
