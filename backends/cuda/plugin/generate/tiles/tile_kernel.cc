#include "plugin/generate/tiles/tile_kernel.h"

#include <algorithm>

#include "plugin/generate/text/body.h"
#include "plugin/generate/text/runs.h"
#include "plugin/generate/text/tactic.h"
#include "plugin/generate/text/types.h"
#include "plugin/generate/tiles/choose_tile.h"
#include "plugin/generate/tiles/copies.h"
#include "plugin/generate/tiles/float_tile.h"
#include "plugin/generate/tiles/half_tile.h"
#include "plugin/generate/tiles/vectors.h"

namespace sluice::cuda {
namespace {

std::string constant(const char* type, const char* name, std::int64_t value) {
  return std::string("constexpr ") + type + " " + name + " = " + std::to_string(value) + ";\n";
}

std::string sizes_text(const sluice_op& op, const Product& product, int run) {
  const std::string type(type_name(op.outputs[0].tensor.element_type));
  return "\ntypedef " + type + " T;\n" + constant("Index", "kM", product.m) +
         constant("Index", "kN", product.n) + constant("int", "kK", product.k) +
         constant("int", "kRun", run);
}

std::string tile_text(const Tile& tile) {
  return constant("int", "kTileM", tile.m) + constant("int", "kTileN", tile.n) +
         constant("int", "kTileK", tile.k) + constant("int", "kWarpsM", tile.warps_m) +
         constant("int", "kWarpsN", tile.warps_n) + constant("int", "kWarpsK", tile.warps_k) +
         constant("int", "kStages", tile.stages) + constant("int", "kThreads", tile.threads());
}

/// The start of a factor's matrix in the stack.
std::string start_text(const char* name, const std::string& pointer, const Factor& factor,
                       const Product& product) {
  const std::string index = broadcast_index("place.batch", factor.batch, product.batch);
  return std::string("  const T* const ") + name + " = " + pointer +
         (index == "0" ? "" : " + (" + index + ") * " + std::to_string(factor.matrix)) + ";\n";
}

std::string loaders_text(const Product& product) {
  return "typedef Loader<A, kTileM> LoadA;\ntypedef " +
         std::string(product.gathering.taps > 0 ? "Gatherer<B, kTileN>" : "Loader<B, kTileN>") +
         " LoadB;\n";
}

/// A kernel in the making: its functions, how a block finds its place, and how it computes.
struct Parts {
  std::string functions, find, compute;
  int run = 1;  ///< sums that `finish` takes
  unsigned threads = 0;
  std::int64_t blocks = 0;
};

bool is_float(const sluice_op& op) { return op.outputs[0].tensor.element_type == plugin::kF32; }

/// The sums of a row that a thread finishes together. Where a row is broken at odd places, memory
/// gets the fewest sectors from lanes with few neighbours each.
int run_of(const sluice_op& op, const Product& product, const Tile& tile) {
  const int widest = is_float(op) ? 4 : 8;
  const int unbroken = longest_run(product.unbroken, widest);
  if (tile.warps_k > 1) return unbroken;
  return !is_float(op) && unbroken <= 2 ? 2 : widest;
}

Parts tile_parts(const sluice_op& op, const Product& product, const Tile& tile) {
  const bool is_f16 = op.outputs[0].tensor.element_type == plugin::kF16;
  Parts parts;
  parts.run = run_of(op, product, tile);
  parts.threads = static_cast<unsigned>(tile.threads());
  const std::string units = is_float(op) ? "" : is_f16 ? kMultiplyF16Text : kMultiplyBf16Text;
  parts.functions = tile_text(tile) + factors_text(product) + kAsyncText + kCopiesText + units;
  parts.functions += is_float(op) ? kFloatLoadersText : kHalfLoadersText;
  if (product.gathering.taps > 0) {
    parts.functions += is_float(op) ? kFloatGathererText : kHalfGathererText;
  }
  parts.functions += loaders_text(product);
  parts.functions += is_float(op) ? kFloatTileText : std::string(kMatricesText) + kHalfTileText;
  parts.find = "find_tile(blockIdx.x)";
  parts.compute = "  compute_tile(a, b, place, finish);\n";
  parts.blocks = (product.m + tile.m - 1) / tile.m * ((product.n + tile.n - 1) / tile.n) *
                 product.num_batches();
  return parts;
}

Parts vector_parts(const Product& product, int element_bytes) {
  const Vectors vectors = choose_vectors(product, element_bytes);
  Parts parts;
  parts.threads = kVectorThreads;
  parts.functions = factors_text(product) + vectors_text(vectors);
  parts.find = "find_vectors(blockIdx.x)";
  parts.compute = "  compute_vectors(a, b, place, finish);\n";
  parts.blocks = (product.n + vectors.columns - 1) / vectors.columns * product.num_batches();
  return parts;
}

Status write_parts(const sluice_op& op, const Product& product, const Finish& finish,
                   const Parts& parts, Source* source) {
  Parameters parameters(op);
  std::string start = start_text("a", parameters.add(product.a.operand), product.a, product);
  start += start_text("b", parameters.add(product.b.operand), product.b, product);
  const std::string finishing = finish_text(op, product, finish, parts.run, &parameters);
  std::int64_t largest = plugin::num_elements(op.outputs[0].tensor);
  for (const sluice_operand& operand : plugin::inputs_of(op)) {
    largest = std::max(largest, plugin::num_elements(operand.tensor));
  }
  const std::string functions = sizes_text(op, product, parts.run) + kRunsText + parts.functions;
  // Two blocks of a tile on a multiprocessor: one copies while the other multiplies.
  const std::string bounds = "__launch_bounds__(" + std::to_string(parts.threads) + ", 2) ";
  source->text = constants_text(op) + kernel_head(parameters, largest, functions, bounds) +
                 "  const Place place = " + parts.find + ";\n" + start + finishing + parts.compute +
                 "}\n";
  source->block = {parts.threads, 1, 1};
  source->operands = parameters.operands();
  return set_grid(parts.blocks, 1, source) ? plugin::ok() : too_large(op);
}

std::vector<Tile> tiles_for(const sluice_op& op) {
  return is_float(op) ? float_tiles() : half_tiles();
}

}  // namespace

std::vector<std::string> product_tactics(const sluice_op& op) {
  std::vector<std::string> names;
  for (const Tile& tile : tiles_for(op)) names.push_back(tile.name());
  return names;
}

Status write_tiles(const sluice_op& op, const Product& product, const Finish& finish,
                   const Tile& tile, Source* source) {
  return write_parts(op, product, finish, tile_parts(op, product, tile), source);
}

Status write_product(const sluice_op& op, const Product& product, const Finish& finish,
                     Source* source) {
  const std::string_view tactic = tactic_of(op);
  for (const Tile& tile : tiles_for(op)) {
    if (tile.name() != tactic) continue;
    source->is_chosen = true;
    return write_tiles(op, product, finish, tile, source);
  }
  const int bytes = static_cast<int>(plugin::element_bits(op.outputs[0].tensor.element_type) / 8);
  const bool is_stored = product.gathering.taps == 0 && product.column_offset.empty();
  if (is_stored && product.m <= max_vector_rows(bytes)) {
    return write_parts(op, product, finish, vector_parts(product, bytes), source);
  }
  const Tile tile = is_float(op) ? choose_float_tile(product) : choose_half_tile(product);
  return write_tiles(op, product, finish, tile, source);
}

}  // namespace sluice::cuda
