#include "sluice/tensors/inputs.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <utility>

#include "base/file.h"
#include "ir/numbers/short_float.h"
#include "package/npy.h"
#include "sluice/tensors/json_value.h"
#include "sluice/tensors/npz.h"

namespace sluice::tool {
namespace {

std::string list_inputs(const terms::Signature& signature) {
  std::string text;
  for (const terms::TensorSpec& spec : signature.inputs) {
    text += fmt::format("{}\"{}\" ({}{})", text.empty() ? "" : ", ", spec.name,
                        spec.type.to_string(), spec.has_default ? ", has a default" : "");
  }
  return text;
}

std::size_t count_required(const terms::Signature& signature) {
  const auto has_default =
      std::ranges::count(signature.inputs, true, &terms::TensorSpec::has_default);
  return signature.inputs.size() - static_cast<std::size_t>(has_default);
}

const terms::TensorSpec* find_spec(const terms::Signature& signature, std::string_view name) {
  for (const terms::TensorSpec& spec : signature.inputs) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

Result<ir::Type> fixed_type(const terms::TensorSpec& spec,
                            const std::map<std::string, std::vector<std::int64_t>>& dims) {
  const auto given = dims.find(spec.name);
  if (given != dims.end()) {
    return spec.type.with_shape(ir::Shape(given->second.begin(), given->second.end()));
  }
  if (spec.type.shape() == nullptr) {
    return invalid_argument("input \"{}\" has no shape; give one with --shape {}=...", spec.name,
                            spec.name);
  }
  ir::Shape shape = *spec.type.shape();
  for (ir::Dim& dim : shape) {
    if (dim.is_known()) continue;
    const auto named = dims.find(dim.to_string());
    dim = named != dims.end() && named->second.size() == 1 ? named->second.front() : 1;
  }
  return spec.type.with_shape(std::move(shape));
}

/// `Make`: the next element, of its own type.
template <typename Make>
void fill_with(std::vector<std::byte>& data, Make make) {
  using T = decltype(make());
  for (std::size_t at = 0; at + sizeof(T) <= data.size(); at += sizeof(T)) {
    const T value = make();
    std::memcpy(data.data() + at, &value, sizeof(value));
  }
}

/// The same numbers in every run, so that results can be compared. Floats are normal, those of 8
/// bits of either sign between 0.06 and 2; integers are 0 or 1, because indices and lengths must
/// stay in range.
void fill_random(ir::ElementType element, std::vector<std::byte>& data) {
  using ir::ElementType;
  std::mt19937 random(20260101);
  std::normal_distribution<float> normal;
  std::normal_distribution<double> wide;
  switch (element) {
    case ElementType::kF32:
    case ElementType::kC64: return fill_with(data, [&] { return normal(random); });
    case ElementType::kF64:
    case ElementType::kC128: return fill_with(data, [&] { return wide(random); });
    case ElementType::kF16:
      return fill_with(data, [&] { return ir::narrow_to_f16(normal(random)); });
    case ElementType::kBf16:
      return fill_with(data, [&] { return ir::narrow_to_bf16(normal(random)); });
    case ElementType::kF8E4M3Fn:
    case ElementType::kF8E4M3Fnuz:
    case ElementType::kF8E5M2:
    case ElementType::kF8E5M2Fnuz:
      return fill_with(data, [&] { return static_cast<std::uint8_t>(0x30U | (random() & 0x8FU)); });
    case ElementType::kF4E2M1:  // two of them; no bits are a NaN
      return fill_with(data, [&] { return static_cast<std::uint8_t>(random()); });
    case ElementType::kF8E8M0:  // powers of two around 1
      return fill_with(data, [&] { return static_cast<std::uint8_t>(126U + random() % 3U); });
    default: break;
  }
  // Only the first of elements that share a byte may be 1.
  const std::size_t width =
      std::max<std::size_t>(1, static_cast<std::size_t>(ir::element_bits(element)) / 8);
  for (std::size_t at = 0; at < data.size(); at += width) {
    data[at] = static_cast<std::byte>(random() & 1U);
  }
}

/// Bounded, because a model's shape may ask for any number of bytes.
Result<ir::Constant> generate(const ir::Type& type, bool is_random) {
  const auto size = ir::storage_bytes(type);
  constexpr std::int64_t kMaxBytes = std::int64_t{8} << 30;
  if (!size || *size > kMaxBytes) {
    return invalid_argument("a tensor of type {} cannot be generated", type.to_string());
  }
  std::vector<std::byte> data(static_cast<std::size_t>(*size));
  if (is_random) fill_random(type.element(), data);
  return ir::Constant{type, Bytes::own(std::move(data))};
}

Result<Value> read_json(const std::string& path) {
  const Bytes file = SLUICE_TRY(map_file(path));
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  return parse_json_value(text).with_context(path);
}

/// Where a value comes from is decided by the text alone:
///
///     random, zeros          generated, open dimensions are 1 unless --shape gives them
///     FILE.npy FILE.npz      NumPy
///     FILE.png FILE.jpg      an image
///     FILE.json              any tensor or sequence
Result<ir::Constant> read_tensor(const std::string& source, const terms::TensorSpec& spec,
                                 const std::map<std::string, std::vector<std::int64_t>>& dims,
                                 const Preprocessing& preprocessing) {
  if (source == kDefaultSource && spec.default_value != nullptr) return *spec.default_value;
  if (source == "random" || source == "zeros") {
    return generate(SLUICE_TRY(fixed_type(spec, dims)), source == "random");
  }
  if (source.ends_with(".npy")) return package::read_npy(source);
  if (source.ends_with(".npz")) return read_npz(source, spec.name).with_context(source);
  if (is_image_file(source)) return image_tensor(source, spec.type, preprocessing);
  if (!source.ends_with(".json")) {
    return invalid_argument(
        "\"{}\" is not an input; give a .npy, .npz, .json, .png or .jpg file, random or zeros",
        source);
  }
  Value value = SLUICE_TRY(read_json(source));
  if (!value.tensor)
    return invalid_argument("{} holds a sequence; the model takes a tensor", source);
  return std::move(*value.tensor);
}

Result<Value> read_value(const std::string& source, const terms::TensorSpec& spec,
                         const std::map<std::string, std::vector<std::int64_t>>& dims,
                         const Preprocessing& preprocessing) {
  if (spec.type.is_tensor()) {
    return Value{SLUICE_TRY(read_tensor(source, spec, dims, preprocessing)), {}};
  }
  if (source.ends_with(".json")) return read_json(source);
  return invalid_argument("it is a {}; give a .json file", spec.type.to_string());
}

}  // namespace

Result<std::map<std::string, std::string>> parse_inputs(const std::vector<std::string>& arguments,
                                                        const terms::Signature& signature,
                                                        Missing missing) {
  // NAME=SOURCE, a SOURCE for the only input that needs one, or an .npz with inputs by their names.
  std::map<std::string, std::string> sources;
  std::set<std::string> named;  // not by an .npz, of whose inputs some may be given otherwise
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const bool is_named = equals != std::string::npos;
    if (!is_named && argument.ends_with(".npz")) {
      for (const terms::TensorSpec& spec : signature.inputs) {
        // An input with a default may be missing in the file; another that is fails when it is
        // read.
        if (spec.has_default && !read_npz(argument, spec.name).is_ok()) continue;
        sources.emplace(spec.name, argument);
      }
      continue;
    }
    const std::size_t num_required = count_required(signature);
    if (!is_named && num_required != 1) {
      return invalid_argument("--input {0}: name the input, as in NAME={0}; the model has {1}",
                              argument, list_inputs(signature));
    }
    std::string name = is_named ? argument.substr(0, equals) : signature.inputs.front().name;
    if (find_spec(signature, name) == nullptr) {
      return invalid_argument("the model has no input \"{}\"; it has {}{}", name,
                              list_inputs(signature), terms::fixed_input_hint(signature, name));
    }
    if (!named.insert(name).second) {
      return invalid_argument("--input {}: input \"{}\" is \"{}\" already; give it once", argument,
                              name, sources.at(name));
    }
    sources[std::move(name)] = is_named ? argument.substr(equals + 1) : argument;
  }
  for (const terms::TensorSpec& spec : signature.inputs) {
    if (sources.contains(spec.name)) continue;
    if (spec.has_default) {
      sources[spec.name] = kDefaultSource;
      continue;
    }
    if (missing == Missing::kRefuse) {
      return invalid_argument(
          "input \"{0}\" ({1}) is missing; give it with --input {2}=FILE.npy, or --input "
          "{2}=random for a test",
          spec.name, spec.type.to_string(), spec.name);
    }
    sources[spec.name] = "random";
  }
  return sources;
}

void add_image_options(Options& options, Preprocessing& preprocessing) {
  options
      .add("--resize", preprocessing.resize,
           "Resize an image's shorter side to so many pixels, then crop the centre to the input's "
           "size")
      .between(1, 16384);
  options
      .add("--mean", preprocessing.means,
           "Subtract this from an image's samples, which lie between 0 and 1: one number, or one "
           "per channel")
      .separated_by_commas()
      .between(-1000, 1000);
  options
      .add("--std", preprocessing.deviations,
           "Divide an image's samples by this after --mean: one number, or one per channel")
      .separated_by_commas()
      .positive();
}

Result<std::vector<Value>> read_values(const std::map<std::string, std::string>& sources,
                                       const terms::Signature& signature,
                                       const std::map<std::string, std::vector<std::int64_t>>& dims,
                                       const Preprocessing& preprocessing) {
  std::vector<Value> values;
  for (const terms::TensorSpec& spec : signature.inputs) {
    auto value = read_value(sources.at(spec.name), spec, dims, preprocessing);
    values.push_back(
        SLUICE_TRY(std::move(value).with_context(fmt::format("input \"{}\"", spec.name))));
  }
  return values;
}

Result<std::vector<ir::Constant>> read_inputs(
    const std::map<std::string, std::string>& sources, const terms::Signature& signature,
    const std::map<std::string, std::vector<std::int64_t>>& dims,
    const Preprocessing& preprocessing) {
  std::vector<Value> values = SLUICE_TRY(read_values(sources, signature, dims, preprocessing));
  std::vector<ir::Constant> tensors;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].tensor) {
      return unimplemented("input \"{}\" is a {}; only `sluice run` takes one",
                           signature.inputs[i].name, signature.inputs[i].type.to_string());
    }
    tensors.push_back(std::move(*values[i].tensor));
  }
  return tensors;
}

Status set_values(exec::Context& context, const terms::Signature& signature,
                  const std::vector<Value>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (signature.inputs[i].type.is_tensor()) {
      SLUICE_TRY(context.set_input(i, view_of(*values[i].tensor)));
    } else {
      SLUICE_TRY(context.set_input_value(i, SLUICE_TRY(as_exec_value(values[i]))));
    }
  }
  return ok_status();
}

Status set_inputs(exec::Context& context, const std::vector<ir::Constant>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    SLUICE_TRY(context.set_input(i, view_of(tensors[i])));
  }
  return ok_status();
}

}  // namespace sluice::tool
