#include "package/npy.h"

#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "base/file.h"

namespace sluice::package {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

constexpr std::array<std::pair<std::string_view, ir::ElementType>, 14> kTypes = {{
    // By numpy's typestr without the byte order.
    {"f4", ir::ElementType::kF32},
    {"f8", ir::ElementType::kF64},
    {"f2", ir::ElementType::kF16},
    {"i1", ir::ElementType::kI8},
    {"i2", ir::ElementType::kI16},
    {"i4", ir::ElementType::kI32},
    {"i8", ir::ElementType::kI64},
    {"u1", ir::ElementType::kU8},
    {"u2", ir::ElementType::kU16},
    {"u4", ir::ElementType::kU32},
    {"u8", ir::ElementType::kU64},
    {"b1", ir::ElementType::kBool},
    {"c8", ir::ElementType::kC64},
    {"c16", ir::ElementType::kC128},
}};

struct Header {
  std::string_view text;
  std::size_t data_offset = 0;
};

Result<Header> find_header(const Bytes& file) {
  const std::string_view view(reinterpret_cast<const char*>(file.data()), file.size());
  if (!view.starts_with(kMagic)) return invalid_argument("this is not an .npy file");
  if (view.size() < 12) return make_error(Code::kDataLoss, "the .npy file is cut");
  const auto byte = [&](std::size_t at) {
    return std::size_t{static_cast<unsigned char>(view[at])};
  };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) return invalid_argument(".npy version {} is unknown", version);
  // Version 1 has a length of two bytes, later ones of four.
  const std::size_t start = version == 1 ? 10 : 12;
  std::size_t size = byte(8) | byte(9) << 8U;
  if (version > 1) size |= byte(10) << 16U | byte(11) << 24U;
  if (size > view.size() - start) return make_error(Code::kDataLoss, "the .npy header is cut");
  return Header{view.substr(start, size), start + size};
}

/// Empty for a type that NumPy has no name for.
std::string_view name_of(ir::ElementType type) {
  for (const auto& [name, element] : kTypes) {
    if (element == type) return name;
  }
  return {};
}

/// What stands after `'key':` in the header, a Python dict.
Result<std::string_view> find_value(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return invalid_argument("the .npy header lacks \"{}\"", key);
  std::string_view rest = header.substr(at + key.size() + 3);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}

Result<ir::ElementType> parse_descr(std::string_view value) {
  const std::size_t end = value.starts_with('\'') ? value.find('\'', 1) : std::string_view::npos;
  if (end == std::string_view::npos) return invalid_argument("the .npy header has no element type");
  const std::string_view descr = value.substr(1, end - 1);
  // Big-endian arrays (>) are refused. The mark = stands for the byte order of the writer's
  // machine.
  const bool has_order =
      !descr.empty() && std::string_view("<|=").find(descr.front()) != std::string_view::npos;
  for (const auto& [name, type] : kTypes) {
    if (has_order && descr.substr(1) == name) return type;
  }
  return invalid_argument(".npy element type \"{}\" is not supported", descr);
}

Result<ir::Shape> parse_shape(std::string_view value) {
  const std::size_t end = value.find(')');
  if (value.empty() || value.front() != '(' || end == std::string_view::npos) {
    return invalid_argument("the .npy header has no shape");
  }
  ir::Shape shape;
  const char* at = value.data() + 1;
  const char* stop = value.data() + end;
  while (at < stop) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    std::int64_t dim = 0;
    const auto [next, error] = std::from_chars(at, stop, dim);
    if (error != std::errc() || dim < 0) return invalid_argument("the .npy shape is malformed");
    shape.emplace_back(dim);
    at = next;
  }
  return shape;
}

}  // namespace

Result<ir::Constant> parse_npy(const Bytes& file) {
  const Header header = SLUICE_TRY(find_header(file));
  const auto element = SLUICE_TRY(parse_descr(SLUICE_TRY(find_value(header.text, "descr"))));
  const std::string_view order = SLUICE_TRY(find_value(header.text, "fortran_order"));
  if (!order.starts_with("False")) {
    return invalid_argument("the array is in Fortran order; save np.ascontiguousarray(array)");
  }
  ir::Shape shape = SLUICE_TRY(parse_shape(SLUICE_TRY(find_value(header.text, "shape"))));
  const ir::Type type = ir::Type::tensor(element, std::move(shape));
  const auto size = ir::storage_bytes(type);
  if (!size || file.size() - header.data_offset < static_cast<std::size_t>(*size)) {
    return make_error(Code::kDataLoss, "the .npy file is cut: {} needs more data",
                      type.to_string());
  }
  return ir::Constant{type, file.slice(header.data_offset, static_cast<std::size_t>(*size))};
}

Result<ir::Constant> read_npy(const std::filesystem::path& path) {
  return parse_npy(SLUICE_TRY(map_file(path))).with_context(path.string());
}

bool has_npy_type(ir::ElementType type) { return !name_of(type).empty(); }

Status write_npy(const std::filesystem::path& path, const ir::Type& type,
                 std::span<const std::byte> data) {
  const std::string_view descr = name_of(type.element());
  if (descr.empty()) {
    return unimplemented("{}: .npy has no element type for {}", path.string(),
                         ir::element_type_name(type.element()));
  }
  std::string shape;
  const auto dims = type.static_dims().value_or(std::vector<std::int64_t>());
  for (const std::int64_t dim : dims) shape += fmt::format("{}, ", dim);
  // numpy marks types of one byte as without an order.
  const char order = ir::element_bits(type.element()) > 8 ? '<' : '|';
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   order, descr, shape);
  // The data starts at a multiple of 64 bytes, as numpy writes it, behind a newline.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string start(kMagic);
  start += {1, 0, static_cast<char>(header.size() & 255U), static_cast<char>(header.size() >> 8U)};
  AtomicFile file = SLUICE_TRY(AtomicFile::create(path));
  SLUICE_TRY(file.append(std::as_bytes(std::span(start))));
  SLUICE_TRY(file.append(std::as_bytes(std::span(header))));
  SLUICE_TRY(file.append(data));
  return file.commit();
}

}  // namespace sluice::package
