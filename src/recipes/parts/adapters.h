// Low-rank changes of a model's products (LoRA, arXiv 2106.09685): a product x W becomes
// x W + scale (x A) B for the texts that ask for the adapter.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/attribute.h"
#include "recipes/parts/adapter_source.h"
#include "recipes/parts/settings.h"

namespace sluice::recipes {

/// What adapter_config.json says.
struct AdapterSettings {
  double alpha = 0;
  bool has_root = false;                 ///< alpha is divided by the root of the rank (use_rslora)
  std::map<std::string, double> alphas;  ///< of modules whose names end so

  /// What the change of a product is multiplied by.
  float scale_of(std::string_view module, std::int64_t rank) const;
};

/// Errors are those of `settings`. A way to adapt that computes another change is refused by the
/// name of its field.
AdapterSettings read_adapter(Settings& settings);

/// The matrices of one product in all adapters, padded to the largest rank R with zeros. An adapter
/// that leaves the product alone has zeros.
struct AdapterStack {
  ir::Constant down;          ///< A: [adapters, R, in], f32, f16 or bf16
  ir::Constant up;            ///< B: [adapters, out, R], of the same type
  std::vector<float> scales;  ///< by adapter
};

/// Adapters in the order in which texts are routed to them. Used by one thread.
class Adapters {
 public:
  Adapters() = default;

  /// Maps the files, which must not change while a graph with their matrices is used.
  /// Fails: kNotFound         a file is missing
  ///        kInvalidArgument  a damaged file; a name twice; matrices that do not fit each other
  ///        kUnimplemented    a way to adapt that no recipe knows, by its name
  static Result<Adapters> open(std::span<const AdapterSource> sources);

  bool is_empty() const { return names_.empty(); }
  const std::vector<std::string>& names() const { return names_; }

  /// Rows of the products whose names end so lie in pairs in the model's file, not half a head
  /// apart: those of B are brought into that order.
  void pair_rows(std::string_view module, std::int64_t head_size);

  /// The matrices for the weight of a product [in] to [out]; nullopt if no adapter changes it.
  /// Fails: kInvalidArgument for matrices of another size, or of more than 4 GiB in all.
  Result<std::optional<AdapterStack>> find(std::string_view weight, std::int64_t out,
                                           std::int64_t in);

  /// Fails: kUnimplemented for a matrix that no product took.
  Status check_all_taken() const;

 private:
  struct Pair {
    ir::Constant down;  ///< [rank, in]
    ir::Constant up;    ///< [out, rank]
    float scale = 1;
  };
  using Pairs = std::map<std::string, Pair, std::less<>>;  ///< by the module's name

  static Result<Pairs> read_pairs(const AdapterSource& source);
  /// `pairs`: by adapter; null for one that leaves the product alone.
  static Result<AdapterStack> stack_of(const std::vector<const Pair*>& pairs, std::int64_t out,
                                       std::int64_t in);

  std::vector<std::string> names_;
  std::vector<Pairs> pairs_;  ///< by adapter
  std::set<std::string, std::less<>> taken_;
};

}  // namespace sluice::recipes
