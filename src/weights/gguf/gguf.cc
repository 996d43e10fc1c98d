#include "weights/gguf/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "weights/aligned.h"
#include "weights/gguf/block_formats.h"
#include "weights/gguf/header_reader.h"

namespace sluice::weights {
namespace {

using ir::ElementType;

constexpr std::size_t kMaxHeaderBytes = std::size_t{256} << 20U;
constexpr std::uint32_t kMaxRank = 4;
constexpr std::uint64_t kMaxTensors = std::uint64_t{1} << 16U;
constexpr std::int64_t kUsualAlignment = 32;
constexpr std::int64_t kMaxAlignment = std::int64_t{1} << 20;
/// Version 3 added files with big-endian numbers to version 2.
constexpr std::uint32_t kVersions[] = {2, 3};

constexpr std::pair<std::uint32_t, ElementType> kPlainTypes[] = {
    {0, ElementType::kF32},  {1, ElementType::kF16},  {24, ElementType::kI8},
    {25, ElementType::kI16}, {26, ElementType::kI32}, {27, ElementType::kI64},
    {28, ElementType::kF64}, {30, ElementType::kBf16}};

struct Entry {
  std::string name;
  std::vector<std::int64_t> dims;  ///< outermost first
  std::uint32_t type = 0;
  std::uint64_t offset = 0;  ///< bytes behind the start of the data
  std::int64_t bytes = 0;
};

struct Counts {
  std::uint64_t tensors = 0;
  std::uint64_t keys = 0;
};

HeaderReader reader_of(const Bytes& file) {
  return HeaderReader(file.view().first(std::min(file.size(), kMaxHeaderBytes)));
}

Result<Counts> read_counts(HeaderReader& reader) {
  for (const char wanted : kGgufMagic) {
    const char given = SLUICE_TRY(reader.number<char>());
    if (given != wanted) return invalid_argument("the file does not begin with \"{}\"", kGgufMagic);
  }
  const auto version = SLUICE_TRY(reader.number<std::uint32_t>());
  if (std::ranges::find(kVersions, version) == std::end(kVersions)) {
    // A big-endian file has its version in the upper bytes.
    return unimplemented("version {} is not supported{}; versions 2 and 3 are", version,
                         version > 0xFFFF ? " (a big-endian file)" : "");
  }
  Counts counts;
  counts.tensors = SLUICE_TRY(reader.number<std::uint64_t>());
  if (counts.tensors > kMaxTensors) {
    return invalid_argument("{} tensors; at most {} are read", counts.tensors, kMaxTensors);
  }
  counts.keys = SLUICE_TRY(reader.number<std::uint64_t>());
  return counts;
}

Result<nlohmann::json> read_metadata(HeaderReader& reader, std::uint64_t count) {
  nlohmann::json metadata = nlohmann::json::object();
  // Each pass reads bytes or fails at the end of the header, so that a count cannot lead further.
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key = SLUICE_TRY(reader.text());
    auto value = reader.value().with_context("\"" + key + "\"");
    const bool is_new = metadata.emplace(key, SLUICE_TRY(std::move(value))).second;
    if (!is_new) return invalid_argument("the metadata have \"{}\" twice", key);
  }
  return metadata;
}

Result<std::int64_t> alignment_of(const nlohmann::json& metadata) {
  const auto found = metadata.find("general.alignment");
  if (found == metadata.end()) return kUsualAlignment;
  const std::int64_t alignment = found->is_number_unsigned() ? found->get<std::int64_t>() : 0;
  const bool is_power = alignment > 0 && (alignment & (alignment - 1)) == 0;
  if (is_power && alignment <= kMaxAlignment) return alignment;
  return invalid_argument("general.alignment: expected a power of two up to {}", kMaxAlignment);
}

const ElementType* find_plain(std::uint32_t type) {
  const auto* found = std::ranges::find(kPlainTypes, type, [](const auto& t) { return t.first; });
  return found == std::end(kPlainTypes) ? nullptr : &found->second;
}

/// Bytes of the tensor. Fails: for an unknown type, and dimensions that do not fit it.
Result<std::int64_t> bytes_of(const Entry& entry) {
  const auto numbers = checked_product(entry.dims);
  std::optional<std::int64_t> bytes;
  if (const ElementType* plain = find_plain(entry.type)) {
    if (numbers) bytes = checked_mul(*numbers, ir::element_bits(*plain) / 8);
  } else if (const BlockFormat* format = find_block_format(entry.type)) {
    const bool is_matrix = entry.dims.size() == 2 || entry.dims.size() == 3;
    if (!is_matrix || entry.dims.back() % format->size != 0) {
      return invalid_argument(
          "{} of [{}]: rows of a matrix, or of a stack of them, have whole blocks of {}",
          format->name, fmt::join(entry.dims, ","), format->size);
    }
    if (numbers) bytes = checked_mul(*numbers / format->size, format->bytes);
  } else {
    return unimplemented(
        "the type {} is not supported; F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, "
        "IQ4_NL, IQ4_XS and MXFP4 are",
        entry.type);
  }
  if (!bytes) return invalid_argument("[{}] are too many numbers", fmt::join(entry.dims, ","));
  return *bytes;
}

Result<Entry> read_entry(HeaderReader& reader) {
  Entry entry;
  entry.name = SLUICE_TRY(reader.text());
  const auto rank = SLUICE_TRY(reader.number<std::uint32_t>());
  if (rank > kMaxRank) {
    return invalid_argument("tensor \"{}\": {} dimensions; at most {} are read", entry.name, rank,
                            kMaxRank);
  }
  for (std::uint32_t i = 0; i < rank; ++i) {
    const auto size = SLUICE_TRY(reader.number<std::int64_t>());
    if (size < 1) return invalid_argument("tensor \"{}\": a dimension of {}", entry.name, size);
    // The format has the dimension of neighbours first.
    entry.dims.insert(entry.dims.begin(), size);
  }
  entry.type = SLUICE_TRY(reader.number<std::uint32_t>());
  entry.offset = SLUICE_TRY(reader.number<std::uint64_t>());
  entry.bytes = SLUICE_TRY(bytes_of(entry).with_context("tensor \"" + entry.name + "\""));
  return entry;
}

/// Every range lies within the data, and no byte belongs to two tensors: what is read of a file is
/// no more than the file.
Status check_ranges(std::vector<Entry>& entries, std::uint64_t size, std::int64_t alignment) {
  std::ranges::sort(entries, {}, &Entry::offset);
  std::uint64_t end = 0;
  for (const Entry& entry : entries) {
    const auto bytes = static_cast<std::uint64_t>(entry.bytes);
    if (entry.offset % static_cast<std::uint64_t>(alignment) != 0) {
      return invalid_argument("tensor \"{}\": begins at {}, which is no multiple of {}", entry.name,
                              entry.offset, alignment);
    }
    if (entry.offset < end) {
      return invalid_argument("tensor \"{}\": its range overlaps that of another", entry.name);
    }
    if (entry.offset > size || bytes > size - entry.offset) {
      return invalid_argument("tensor \"{}\": {} bytes from {} on; the file has {} for tensors",
                              entry.name, bytes, entry.offset, size);
    }
    end = entry.offset + bytes;
  }
  return ok_status();
}

/// Matrices of a stack follow each other, as their rows do.
Blocks read_stack(const BlockFormat& format, const std::vector<std::int64_t>& dims,
                  const Bytes& bytes) {
  const bool is_stack = dims.size() == 3;
  const std::int64_t rows = is_stack ? dims[0] * dims[1] : dims[0];
  Blocks blocks = read_blocks(format, rows, dims.back(), bytes);
  if (!is_stack) return blocks;
  const auto cut = [&](ir::Constant& part) {
    const ir::Dim& columns = part.type.shape()->back();
    part.type = ir::Type::tensor(part.type.element(), ir::Shape{dims[0], dims[1], columns});
  };
  cut(blocks.numbers);
  cut(blocks.scales);
  if (blocks.zeros) cut(*blocks.zeros);
  return blocks;
}

Result<Weights> read_tensors(const std::vector<Entry>& entries, const Bytes& data) {
  Weights::Map map;
  Weights::BlockMap blocks;
  for (const Entry& entry : entries) {
    const Bytes bytes = data.slice(entry.offset, static_cast<std::size_t>(entry.bytes));
    const bool is_new = !map.contains(entry.name) && !blocks.contains(entry.name);
    if (!is_new) return invalid_argument("the file has tensor \"{}\" twice", entry.name);
    if (const ElementType* plain = find_plain(entry.type)) {
      const ir::Shape shape(entry.dims.begin(), entry.dims.end());
      map.emplace(entry.name,
                  ir::Constant{ir::Type::tensor(*plain, shape), aligned(bytes, *plain)});
    } else {
      const BlockFormat& format = *find_block_format(entry.type);
      blocks.emplace(entry.name, read_stack(format, entry.dims, bytes));
    }
  }
  return Weights(std::move(map), std::move(blocks));
}

}  // namespace

Result<nlohmann::json> read_gguf_metadata(const Bytes& file) {
  HeaderReader reader = reader_of(file);
  const Counts counts = SLUICE_TRY(read_counts(reader));
  return read_metadata(reader, counts.keys);
}

Result<Gguf> read_gguf(const Bytes& file) {
  HeaderReader reader = reader_of(file);
  const Counts counts = SLUICE_TRY(read_counts(reader));
  Gguf gguf;
  gguf.metadata = SLUICE_TRY(read_metadata(reader, counts.keys));
  const std::int64_t alignment = SLUICE_TRY(alignment_of(gguf.metadata));
  std::vector<Entry> entries;
  for (std::uint64_t i = 0; i < counts.tensors; ++i) {
    entries.push_back(SLUICE_TRY(read_entry(reader)));
  }
  const auto header = static_cast<std::int64_t>(reader.position());
  const auto start = static_cast<std::size_t>(*checked_align(header, alignment));
  const std::size_t size = file.size() > start ? file.size() - start : 0;
  SLUICE_TRY(check_ranges(entries, size, alignment));
  if (entries.empty()) return gguf;
  gguf.weights = SLUICE_TRY(read_tensors(entries, file.slice(file.size() - size, size)));
  return gguf;
}

}  // namespace sluice::weights
