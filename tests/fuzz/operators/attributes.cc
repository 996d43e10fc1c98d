#include "fuzz/operators/attributes.h"

#include <limits>
#include <map>
#include <sstream>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/schema.h"

namespace sluice::fuzz {
namespace {

/// By name, values that some schema has as the default; attributes without a default have none.
using Table = std::map<std::string, std::vector<ir::Attribute>>;

const Table& attribute_table() {
  static const Table kTable = [] {
    Table table;
    for (const ops::OpSchema* schema : ops::all_schemas()) {
      for (const ops::AttributeSpec& spec : schema->attributes) {
        auto& values = table[std::string(spec.name)];
        if (spec.default_value) values.push_back(*spec.default_value);
      }
    }
    for (const char* name : {"axes", "axis", "pads", "split", "starts", "ends", "repeats", "shape",
                             "sluice_weights", "sluice_strassen", "sluice_convolution",
                             "sluice_variant", "tiles", "unknown", "spatial", "broadcast"}) {
      table[name];
    }
    return table;
  }();
  return kTable;
}

/// Words of attributes, between spaces.
constexpr std::string_view kWords =
    "NOTSET SAME_UPPER SAME_LOWER VALID constant edge reflect wrap linear nearest cubic "
    "bilinear bicubic zeros border reflection forward reverse LEFT RIGHT none add mul max "
    "min sum mean avg bf16 f16 int8 direct tanh silu DCR CRD half_pixel asymmetric floor "
    "ceil row_major align_corners round_prefer_floor pytorch_half_pixel "
    "tf_crop_and_resize c16 output_half_pixel bidirectional ij,jk->ik ...i,i...->i ii->i "
    "TF IDF TFIDF Relu Sigmoid Affine SUM MIN MAX AVERAGE SOFTMAX LOGISTIC PROBIT RBF "
    "LINEAR POLY RGB BGR Grayscale not_larger stretch circular avx2/rows-24";

const std::vector<std::string>& words() {
  static const std::vector<std::string> kList = [] {
    std::vector<std::string> list = {""};
    std::istringstream stream{std::string(kWords)};
    for (std::string word; stream >> word;) list.push_back(word);
    return list;
  }();
  return kList;
}

float random_number(Random& random) {
  switch (random.below(8)) {
    case 0: return std::numeric_limits<float>::quiet_NaN();
    case 1: return std::numeric_limits<float>::infinity();
    case 2: return -1e30F;
    case 3: return 0;
    default: return static_cast<float>(random.below(33) - 16) / 4.0F;
  }
}

template <typename T, typename Make>
void mutate_list(std::vector<T>& list, Random& random, const Make& make) {
  const auto at = [&] {
    return list.begin() + random.below(static_cast<std::int64_t>(list.size()));
  };
  if (list.empty() || (random.once_in(4) && list.size() < 12)) {
    list.insert(list.end(), make());
  } else if (random.once_in(4)) {
    list.erase(at());
  } else {
    *at() = make();
  }
}

struct Mutation {
  Random& random;

  void operator()(std::int64_t& value) const {
    const bool is_small = value > -1000 && value < 1000;
    if (is_small && random.once_in(2)) {
      value += random.once_in(2) ? 1 : -1;
    } else {
      value = random_integer(random);
    }
  }
  void operator()(float& value) const { value = random_number(random); }
  void operator()(std::string& value) const { value = random.pick(words()); }
  void operator()(std::vector<std::int64_t>& list) const {
    mutate_list(list, random, [&] { return random_integer(random); });
  }
  void operator()(std::vector<float>& list) const {
    mutate_list(list, random, [&] { return random_number(random); });
  }
  void operator()(std::vector<std::string>& list) const {
    mutate_list(list, random, [&] { return random.pick(words()); });
  }
  void operator()(ir::Constant& value) const {
    if (ir::run_bytes(value.type).value_or(1 << 20) < (1 << 16)) {
      value = random_constant(value.type, random);
    }
  }
  template <typename T>
  void operator()(T& /*value*/) const {}
};

ir::Attribute value_of_any_kind(Random& random) {
  ir::Attribute value;
  switch (random.below(7)) {
    case 0: value = float{}; break;
    case 1: value = std::string(); break;
    case 2: value = std::vector<std::int64_t>(static_cast<std::size_t>(random.below(5)), 1); break;
    case 3: value = std::vector<float>(static_cast<std::size_t>(random.below(5)), 1.0F); break;
    case 4: value = std::vector<std::string>(static_cast<std::size_t>(random.below(4))); break;
    default: value = std::int64_t{}; break;
  }
  std::visit(Mutation{random}, value);
  return value;
}

}  // namespace

const std::string& random_attribute_name(Random& random) {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& [name, values] : attribute_table()) names.push_back(name);
    return names;
  }();
  return random.pick(kNames);
}

ir::Attribute random_attribute(const std::string& name, Random& random) {
  const auto found = attribute_table().find(name);
  if (found == attribute_table().end() || found->second.empty() || random.once_in(8)) {
    return value_of_any_kind(random);
  }
  ir::Attribute value = random.pick(found->second);
  if (random.once_in(2)) std::visit(Mutation{random}, value);
  return value;
}

void mutate_attribute(ir::Attribute& attribute, Random& random) {
  if (random.once_in(16)) {
    attribute = value_of_any_kind(random);
  } else {
    std::visit(Mutation{random}, attribute);
  }
}

}  // namespace sluice::fuzz
