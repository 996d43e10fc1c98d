#include "ops/conv/conv_tactics.h"

#include "conv/depthwise/depthwise.h"
#include "conv/direct/conv.h"
#include "conv/winograd/winograd.h"
#include "core/units.h"
#include "plugin/tactic.h"

namespace sluice::cpu {
namespace {

constexpr ConvMethod kDirect = ConvMethod::kDirect;
constexpr ConvMethod kWinograd = ConvMethod::kWinogradFour;
constexpr ConvMethod kWinogradTwo = ConvMethod::kWinogradTwo;
constexpr ConvMethod kDepthwise = ConvMethod::kDepthwise;

/// The tactics that are most often faster than the default come first.
constexpr ConvTactic kAllConvTactics[] = {
    {.name = "", .method = std::nullopt},
    {.name = "winograd", .method = kWinograd},
    {.name = "winograd2", .method = kWinogradTwo},
    {.name = "direct", .method = kDirect},
    {.name = "winograd/channels",
     .method = kWinograd,
     .winograd = {.division = Division::kChannels}},
    {.name = "winograd/rows", .method = kWinograd, .winograd = {.division = Division::kRows}},
    {.name = "winograd/small-bands",
     .method = kWinograd,
     .winograd = {.band_tiles = 14, .band_bytes = 384 * kKiB}},
    {.name = "winograd/large-bands",
     .method = kWinograd,
     .winograd = {.band_tiles = 56, .band_bytes = 1536 * kKiB}},
    {.name = "direct/channels", .method = kDirect, .direct = {.division = Division::kChannels}},
    {.name = "direct/rows", .method = kDirect, .direct = {.division = Division::kRows}},
    {.name = "direct/long-passes", .method = kDirect, .direct = {.pass_bytes = 288 * kKiB}},
    {.name = "direct/short-passes", .method = kDirect, .direct = {.pass_bytes = 48 * kKiB}},
    {.name = "direct/small-bands",
     .method = kDirect,
     .direct = {.strip_bytes = 192 * kKiB, .band_bytes = 96 * kKiB}},
    {.name = "direct/large-bands",
     .method = kDirect,
     .direct = {.strip_bytes = 1536 * kKiB, .band_bytes = 768 * kKiB}},
    {.name = "depthwise/narrow", .method = kDepthwise, .depthwise = {.narrower = 2}},
    {.name = "depthwise/plain", .method = kDepthwise, .depthwise = {.plain = true}},
};

/// True if the model allows the rounding errors of Winograd's transforms.
bool may_transform(const sluice_op& op) {
  return plugin::Attributes(op).get_text("sluice_convolution", "fast") != "direct";
}

ConvMethod own_method(const sluice_op& op, const ConvShape& shape) {
  if (is_depthwise(shape)) return kDepthwise;
  const auto tile = may_transform(op) ? winograd_pays(shape) : std::nullopt;
  return tile ? winograd_method(*tile) : kDirect;
}

bool fits(const ConvTactic& tactic, const sluice_op& op, const ConvShape& shape) {
  if (!tactic.method) return true;
  if (is_depthwise(shape)) return tactic.method == kDepthwise;
  if (tile_of(*tactic.method)) {
    return may_transform(op) && winograd_refusal(shape) == nullptr;
  }
  return tactic.method == kDirect;
}

/// Returns nullopt if there are fewer items than workers: some workers would be idle.
PlanNumbers if_enough(std::int64_t items, int workers, std::vector<std::int64_t> numbers) {
  return items < workers ? std::nullopt : PlanNumbers(std::move(numbers));
}

std::int64_t panels_of(const ConvPlan& plan) {
  return static_cast<std::int64_t>(plan.packing.panels().size());
}

/// The numbers that distinguish the plan of `tactic` for `workers`; the first is the method.
PlanNumbers numbers_of(const ConvTactic& tactic, ConvMethod method, const ConvShape& shape, Isa isa,
                       int workers) {
  if (const auto tile = tile_of(method)) {
    const WinogradPlan plan = plan_winograd(shape, {}, isa, {*tile}, tactic.winograd);
    const bool by_rows = shares_rows(plan, workers);
    const std::int64_t items = by_rows ? shape.batch * plan.tiles.h : panels_of(plan.product);
    return if_enough(tactic.winograd.division == Division::kByCost ? workers : items, workers,
                     {1, pixels_of(*tile), plan.band.h, plan.band.w, by_rows ? 1 : 0});
  }
  if (method == kDepthwise) {
    const DepthwisePlan plan = plan_depthwise(shape, {}, isa, tactic.depthwise);
    return {{2, plan.reuses_input ? std::min(plan.max_cols, plan.output.w) : 0}};
  }
  const ConvPlan plan = plan_conv(shape, {}, isa, tactic.direct);
  const ConvGrid grid = choose_grid(plan, workers);
  const bool by_rows = grid.over_rows > 1;
  const std::int64_t items = by_rows ? shape.batch * plan.output.h : panels_of(plan);
  return if_enough(tactic.direct.division == Division::kByCost ? workers : items, workers,
                   {3, plan.band_rows, plan.pass_blocks, grid.over_rows});
}

}  // namespace

const ConvTactic& conv_tactic(const sluice_op& op, const ConvShape& shape, Isa isa) {
  const ConvTactic& wanted = find_tactic(kAllConvTactics, tactic_of(op, isa));
  return fits(wanted, op, shape) ? wanted : kAllConvTactics[0];
}

ConvMethod conv_method(const sluice_op& op, const ConvShape& shape, Isa isa) {
  return conv_tactic(op, shape, isa).method.value_or(own_method(op, shape));
}

std::vector<std::string> list_conv_tactics(const sluice_op& op, Isa isa, int workers) {
  const ConvShape shape = conv_weights_shape(op);
  if (refusal(shape) != nullptr) return {};
  const ConvMethod own = own_method(op, shape);
  return distinct_tactics(kAllConvTactics, [&](const ConvTactic& tactic) -> PlanNumbers {
    const ConvMethod method = tactic.method.value_or(own);
    // For a method other than the default one, its default blocks suffice to see whether it pays.
    const bool has_blocks = tactic.name.find('/') != std::string_view::npos;
    const bool divides = tactic.direct.division != Division::kByCost ||
                         tactic.winograd.division != Division::kByCost;
    if (divides && workers == 1) return std::nullopt;
    if (!fits(tactic, op, shape) || (has_blocks && method != own)) return std::nullopt;
    return numbers_of(tactic, method, shape, isa, workers);
  });
}

}  // namespace sluice::cpu
