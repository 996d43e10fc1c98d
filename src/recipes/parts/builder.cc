#include "recipes/parts/builder.h"

#include <algorithm>
#include <span>

namespace sluice::recipes {
namespace {

using ir::ElementType;

/// Files of older versions of transformers have the frequencies that config.json implies.
bool says_nothing(std::string_view weight) { return weight.ends_with("rotary_emb.inv_freq"); }

}  // namespace

void Builder::fail(Status status) {
  if (status_.is_ok()) status_ = std::move(status);
}

OperandId Builder::input(const std::string& name, ir::Type type) {
  if (!status_.is_ok()) return {};
  return take(recorder_.add_input(name, std::move(type)));
}

void Builder::output(const std::string& name, OperandId value) {
  if (status_.is_ok()) fail(recorder_.add_output(name, value));
}

OperandId Builder::op(const char* kind, std::vector<OperandId> inputs, const Attributes& attributes,
                      const char* domain) {
  return ops(kind, std::move(inputs), 1, attributes, domain).front();
}

std::vector<OperandId> Builder::ops(const char* kind, std::vector<OperandId> inputs,
                                    std::size_t count, const Attributes& attributes,
                                    const char* domain) {
  const std::vector<OperandId> none(count);
  if (!status_.is_ok()) return none;
  trace::Recorded recorded;
  recorded.domain = domain;
  recorded.kind = kind;
  recorded.inputs = std::move(inputs);
  recorded.num_outputs = count;
  for (const auto& [name, value] : attributes) recorded.attributes.set(name, value);
  auto outputs = take(recorder_.record(std::move(recorded)));
  return outputs.empty() ? none : outputs;
}

OperandId Builder::ints(const Ints& values) {
  return ints(values, {static_cast<std::int64_t>(values.size())});
}

OperandId Builder::ints(const Ints& values, ir::Shape shape) {
  if (!status_.is_ok()) return {};
  return take(recorder_.add_constant("", ir::make_i64_constant(values, std::move(shape))));
}

OperandId Builder::floats(const std::vector<float>& values, ir::Shape shape) {
  if (!status_.is_ok()) return {};
  return take(recorder_.add_constant("", ir::make_f32_constant(values, std::move(shape))));
}

OperandId Builder::cast(OperandId x, ElementType element) {
  return op("Cast", {x}, {{"to", static_cast<std::int64_t>(element)}});
}

OperandId Builder::weight(const std::string& name, const Ints& dims) {
  if (!status_.is_ok()) return {};
  if (const auto known = read_.find(name); known != read_.end()) return known->second;
  const ir::Constant* found = weights_.find(name);
  if (found == nullptr) {
    const bool is_in_blocks = weights_.find_blocks(name) != nullptr;
    fail(invalid_argument("weight \"{}\" {}", name,
                          is_in_blocks ? "is in blocks; floats are expected" : "is missing"));
    return {};
  }
  const ElementType element = found->type.element();
  const bool is_float =
      element == ElementType::kF32 || element == ElementType::kF16 || element == ElementType::kBf16;
  if (!is_float || found->type.static_dims() != dims) {
    fail(invalid_argument("weight \"{}\" is {}; config.json asks for floats of {}", name,
                          found->type.to_string(),
                          ir::shape_to_string(ir::Shape(dims.begin(), dims.end()))));
    return {};
  }
  const OperandId made = take(recorder_.add_constant(name, *found));
  read_.emplace(name, made);
  return made;
}

OperandId Builder::wide_weight(const std::string& name, const Ints& dims) {
  const OperandId given = weight(name, dims);
  if (!given.is_valid() || recorder_.type(given).element() == ElementType::kF32) return given;
  return cast(given, ElementType::kF32);
}

Builder::BlockConstants Builder::blocks(const std::string& name, const weights::Blocks& found,
                                        const Ints& dims) {
  if (!status_.is_ok()) return {};
  if (const auto known = read_blocks_.find(name); known != read_blocks_.end()) return known->second;
  if (found.numbers.type.static_dims() != dims) {
    fail(invalid_argument("weight \"{}\" is {}; config.json asks for {}", name,
                          found.numbers.type.to_string(),
                          ir::shape_to_string(ir::Shape(dims.begin(), dims.end()))));
    return {};
  }
  BlockConstants made;
  made.block_size = found.block_size;
  made.numbers = take(recorder_.add_constant(name, found.numbers));
  made.scales = take(recorder_.add_constant(name + ".scales", found.scales));
  if (found.zeros) made.zeros = take(recorder_.add_constant(name + ".zeros", *found.zeros));
  read_blocks_.emplace(name, made);
  return made;
}

OperandId Builder::rows(const std::string& name, OperandId ids, const Ints& dims) {
  const weights::Blocks* found = weights_.find_blocks(name);
  if (found == nullptr) return cast(op("Gather", {weight(name, dims), ids}), ElementType::kF32);
  const BlockConstants parts = blocks(name, *found, dims);
  // Few rows are read: their numbers become floats once they are gathered.
  const OperandId numbers = cast(op("Gather", {parts.numbers, ids}), ElementType::kF32);
  OperandId x = op("Reshape", {numbers, ints({0, -1, parts.block_size})});
  const auto of_blocks = [&](OperandId values) {
    return op("Unsqueeze", {op("Gather", {values, ids}), ints({2})});
  };
  if (parts.zeros.is_valid()) x = op("Sub", {x, of_blocks(parts.zeros)});
  return op("Reshape", {op("Mul", {x, of_blocks(parts.scales)}), ints({0, dims[1]})});
}

OperandId Builder::plain_product(OperandId x, const std::string& name, std::int64_t out,
                                 std::int64_t in, Lies lies) {
  const std::int64_t yes = 1;
  const std::int64_t is_flipped = lies == Lies::kOutIn ? 1 : 0;
  if (const weights::Blocks* found = weights_.find_blocks(name)) {
    const BlockConstants parts = blocks(name, *found, {out, in});
    std::vector<OperandId> inputs = {x, parts.numbers, parts.scales};
    if (parts.zeros.is_valid()) inputs.push_back(parts.zeros);
    return op("NarrowMatMul", std::move(inputs),
              {{"block_size", parts.block_size}, {"transB", yes}}, "sluice");
  }
  const OperandId matrix = weight(name, is_flipped == 1 ? Ints{out, in} : Ints{in, out});
  if (!matrix.is_valid()) return {};
  if (recorder_.type(matrix).element() == ElementType::kF32) {
    return op("Gemm", {x, matrix}, {{"transB", is_flipped}});
  }
  // The weights stay as the file has them: no f32 form is made.
  return op("NarrowMatMul", {x, matrix}, {{"transB", is_flipped}}, "sluice");
}

/// [S, 1, 1]. Most products have the same ones.
OperandId Builder::scales_of_rows(const std::vector<float>& scales) {
  const auto known = row_scales_.find(scales);
  if (known != row_scales_.end()) return known->second;
  // Without an adapter, at -1, a row is zeros, and any scale will do.
  const OperandId all = floats(scales, {static_cast<std::int64_t>(scales.size())});
  const OperandId made = op("Unsqueeze", {op("Gather", {all, routes_}), ints({2})});
  row_scales_.emplace(scales, made);
  return made;
}

OperandId Builder::product(OperandId x, const std::string& name, std::int64_t out, std::int64_t in,
                           Lies lies) {
  const OperandId y = plain_product(x, name, out, in, lies);
  if (adapters_ == nullptr || !status_.is_ok()) return y;
  auto stack = take(adapters_->find(name, out, in));
  if (!stack) return y;
  const auto routed = [&](OperandId rows, const char* end, ir::Constant matrices) {
    const OperandId b = take(recorder_.add_constant(name + end, std::move(matrices)));
    return op("RoutedMatMul", {rows, b, OperandId(), OperandId(), routes_}, {}, "sluice");
  };
  OperandId low = routed(x, ".lora_A", std::move(stack->down));  // [S, 1, rank]
  low = op("Mul", {low, scales_of_rows(stack->scales)});
  const OperandId change = routed(low, ".lora_B", std::move(stack->up));
  return op("Add", {y, op("Squeeze", {change, ints({1})})});
}

OperandId Builder::stacked(const std::string& name, const Ints& dims) {
  if (!status_.is_ok()) return {};
  const auto name_of = [&](std::int64_t i) {
    return fmt::format(fmt::runtime(name), fmt::format("{}.", i));
  };
  const ir::Constant* first = weights_.find(name_of(0));
  if (first == nullptr) return weight(fmt::format(fmt::runtime(name), ""), dims);
  const Ints one(dims.begin() + 1, dims.end());
  std::vector<std::pair<std::string, std::span<const std::byte>>> parts;
  for (std::int64_t i = 0; i < dims[0]; ++i) {
    const ir::Constant* found = weights_.find(name_of(i));
    const bool fits = found != nullptr && found->type.static_dims() == one &&
                      found->type.element() == first->type.element();
    if (!fits) {
      fail(invalid_argument("weight \"{}\" is {}; config.json asks for {}{}", name_of(i),
                            found == nullptr ? "missing" : found->type.to_string(),
                            ir::element_type_name(first->type.element()),
                            ir::shape_to_string(ir::Shape(one.begin(), one.end()))));
      return {};
    }
    parts.emplace_back(name_of(i), found->data.view());
  }
  // Every part exists: the stack is no larger than the files.
  MutableBytes all(parts.size() * first->data.size());
  std::byte* to = all.view().data();
  for (const auto& [part, bytes] : parts) to = std::ranges::copy(bytes, to).out;
  const ir::Type type =
      ir::Type::tensor(first->type.element(), ir::Shape(dims.begin(), dims.end()));
  const OperandId made = take(
      recorder_.add_constant(fmt::format(fmt::runtime(name), ""), {type, std::move(all).freeze()}));
  for (const auto& [part, bytes] : parts) read_.emplace(part, made);
  return made;
}

OperandId Builder::routed_product(OperandId x, OperandId routes, const std::string& name,
                                  const Ints& dims) {
  const std::string whole = fmt::format(fmt::runtime(name), "");
  if (const weights::Blocks* found = weights_.find_blocks(whole)) {
    const BlockConstants parts = blocks(whole, *found, dims);
    return op("RoutedMatMul", {x, parts.numbers, parts.scales, parts.zeros, routes},
              {{"block_size", parts.block_size}}, "sluice");
  }
  const OperandId none;
  return op("RoutedMatMul", {x, stacked(name, dims), none, none, routes}, {}, "sluice");
}

Status Builder::check_read(const std::string& name) const {
  const auto begins = [&](const std::string& prefix) { return name.starts_with(prefix); };
  if (read_.contains(name) || read_blocks_.contains(name) || says_nothing(name)) return ok_status();
  if (std::ranges::any_of(ignored_, begins)) return ok_status();
  return unimplemented("weight \"{}\" is not used: the recipe does not fit these weights", name);
}

Result<ir::Graph> Builder::finish() const {
  if (!status_.is_ok()) return status_;
  for (const auto& [name, constant] : weights_) SLUICE_TRY(check_read(name));
  for (const auto& [name, matrix] : weights_.blocks()) SLUICE_TRY(check_read(name));
  return recorder_.graph();
}

}  // namespace sluice::recipes
