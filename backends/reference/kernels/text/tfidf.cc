// TfIdfVectorizer: n-grams are looked up whole in a dictionary of the pool's.
#include <algorithm>
#include <map>

#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;

std::string show(Dims values) { return plugin::to_string(values); }

/// Where the n-grams of each size begin in the pool, and where the last ones end; how many n-grams
/// there are.
Status read_counts(const sluice_op& op, std::int64_t pool_size, Ints* begins, std::int64_t* total) {
  const auto counts = plugin::Attributes(op).get_ints("ngram_counts");
  begins->assign(counts.begin(), counts.end());
  begins->push_back(pool_size);
  *total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto size = static_cast<std::int64_t>(i + 1);
    const bool is_inside = (*begins)[i] >= 0 && (*begins)[i + 1] >= 0 &&
                           (*begins)[i] <= pool_size && (*begins)[i + 1] <= pool_size;
    const std::int64_t items = is_inside ? (*begins)[i + 1] - (*begins)[i] : -1;
    if (items < 0 || items % size != 0) {
      return refuse(op, "ngram_counts " + show(counts) + " do not cut a pool of " +
                            std::to_string(pool_size) + " into n-grams");
    }
    *total += items / size;
  }
  return plugin::ok();
}

std::int64_t pool_size(const plugin::Attributes& attributes) {
  const std::int64_t texts = std::ssize(attributes.get_texts("pool_strings"));
  return texts > 0 ? texts : std::ssize(attributes.get_ints("pool_int64s"));
}

Status check_tfidf(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  const auto coordinates = attributes.get_ints("ngram_indexes");
  Ints begins;
  std::int64_t total = 0;
  Status status = read_counts(op, pool_size(attributes), &begins, &total);
  if (!status.is_ok()) return status;
  if (std::ssize(coordinates) != total) {
    return refuse(op, std::to_string(coordinates.size()) + " ngram_indexes for " +
                          std::to_string(total) + " n-grams");
  }
  const auto weights = attributes.get_floats("weights");
  const bool has_weights = attributes.find("weights", SLUICE_ATTRIBUTE_FLOATS) != nullptr;
  const bool fits = std::ranges::all_of(coordinates, [&](std::int64_t at) {
    return at >= 0 && (!has_weights || at < std::ssize(weights));
  });
  if (!fits) return refuse(op, "ngram_indexes reach out of the weights");
  if (op.inputs[0].tensor.rank > 2) return refuse(op, "the input must be [C] or [N, C]");
  return check_type(op, 0, kIndices + kTexts);
}

/// Coordinates of the pool's n-grams of the lengths that are asked for.
template <typename Token>
using Dictionary = std::map<std::vector<Token>, std::int64_t>;

template <typename Token, typename Pool>
Dictionary<Token> read_dictionary(const Call& call, const Pool& pool) {
  const plugin::Attributes attributes = call.attributes();
  const auto coordinates = attributes.get_ints("ngram_indexes");
  Dictionary<Token> dictionary;
  Ints begins;
  std::int64_t total = 0;
  static_cast<void>(read_counts(call.op(), std::ssize(pool), &begins, &total));  // was checked
  std::size_t next = 0;
  for (std::size_t size = 1; size < begins.size(); ++size) {
    const bool is_wanted = std::cmp_greater_equal(size, attributes.get_int("min_gram_length")) &&
                           std::cmp_less_equal(size, attributes.get_int("max_gram_length"));
    for (auto at = begins[size - 1]; at < begins[size]; at += static_cast<std::int64_t>(size)) {
      const auto first = pool.begin() + at;
      const std::vector<Token> gram(first, first + static_cast<std::int64_t>(size));
      if (is_wanted) dictionary.insert_or_assign(gram, coordinates[next]);
      ++next;
    }
  }
  return dictionary;
}

/// Adds what stands in `row` to `counts`: tokens `step` apart, of which single ones count once.
template <typename Token>
void count_grams(const Call& call, std::span<const Token> row, const Dictionary<Token>& dictionary,
                 std::span<float> counts) {
  const auto length = std::ssize(row);
  const std::int64_t most = std::min(call.attributes().get_int("max_gram_length"), length);
  const std::int64_t steps = std::min(call.attributes().get_int("max_skip_count"), length) + 1;
  for (std::int64_t step = 1; step <= steps; ++step) {
    for (std::int64_t start = 0; start < length; ++start) {
      std::vector<Token> gram;
      for (std::int64_t at = start; at < length && std::ssize(gram) < most; at += step) {
        gram.push_back(row[static_cast<std::size_t>(at)]);
        if (gram.size() == 1 && step > 1) continue;
        const auto found = dictionary.find(gram);
        if (found != dictionary.end()) counts[static_cast<std::size_t>(found->second)] += 1;
      }
    }
  }
}

/// A weight belongs to a coordinate of the result.
void weigh(const Call& call, std::span<float> counts) {
  const std::string_view mode = call.attributes().get_text("mode");
  const auto weights = call.attributes().get_floats("weights");
  for (std::size_t i = 0; i < counts.size() && mode != "TF"; ++i) {
    const float weight = weights.empty() ? 1 : weights[i];
    counts[i] = mode == "IDF" ? (counts[i] > 0 ? weight : 0) : counts[i] * weight;
  }
}

template <typename Token, typename Pool, typename Elements>
Status vectorize(const Call& call, const Pool& pool, const Elements& x) {
  const Dims dims = dims_of(call.input(0));
  const std::int64_t rows = dims.size() == 2 ? dims[0] : 1;
  const auto coordinates = call.attributes().get_ints("ngram_indexes");
  const std::int64_t width = coordinates.empty() ? 0 : std::ranges::max(coordinates) + 1;
  const Ints expected = dims.size() == 2 ? Ints{rows, width} : Ints{width};
  if (Status status = expect_dims(call, 0, expected); !status.is_ok()) return status;
  const auto y = call.output_elements<float>(0);
  std::ranges::fill(y, 0.0F);
  const Dictionary<Token> dictionary = read_dictionary<Token>(call, pool);
  const std::vector<Token> tokens(x.begin(), x.end());
  const auto length = rows == 0 ? 0 : tokens.size() / static_cast<std::size_t>(rows);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    const auto counts =
        y.subspan(row * static_cast<std::size_t>(width), static_cast<std::size_t>(width));
    count_grams<Token>(call, std::span(tokens).subspan(row * length, length), dictionary, counts);
    weigh(call, counts);
  }
  return plugin::ok();
}

Status run_tfidf(const Call& call) {
  if (call.input(0).element_type == plugin::kString) {
    return vectorize<std::string_view>(call, call.attributes().get_texts("pool_strings"),
                                       call.input_elements<Text>(0));
  }
  return vectorize<std::int64_t>(call, call.attributes().get_ints("pool_int64s"),
                                 read_integers(call.input(0)));
}

}  // namespace

std::vector<KernelEntry> tfidf_kernels() {
  return {{.kind = "TfIdfVectorizer",
           .run = run_tfidf,
           .check = check_tfidf,
           .output_types = {plugin::kF32}}};
}

}  // namespace sluice::reference
