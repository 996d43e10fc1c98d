// Writes the sections of a `.sluice` file, one after the other.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "ir/text/graph_text.h"
#include "package/header.h"
#include "package/package.h"
#include "package/write_index.h"

namespace sluice::package {

/// Calls: `start`; `write_graph` and all of `add_packed`, in either order; `finish`. The sections
/// lie in the order of the calls.
///
/// `File` is an AtomicFile or a MemoryFile, which outlives this. Used by one thread.
template <typename File>
class Writer {
 public:
  explicit Writer(File& file) : file_(file) {}

  Status start() { return file_.append(std::vector<std::byte>(sizeof(FileHeader))); }

  /// Writes the graph and its constants. Mapped constants leave memory as they are written.
  Status write_graph(const ir::Graph& graph) {
    number_constants(graph);
    SLUICE_TRY(write_text(graph));
    SLUICE_TRY(file_.pad_to(kPageBytes));
    const std::int64_t start = file_.size();
    for (const Bytes& data : numbered_) {
      index_.constants.push_back(SLUICE_TRY(append_data(data.view())));
    }
    numbered_.clear();
    add_section("constants", start, file_.size());
    return ok_status();
  }

  Status add_packed(std::span<const std::byte> data) {
    if (index_.packed.empty()) {
      SLUICE_TRY(file_.pad_to(kPageBytes));
      packed_start_ = file_.size();
    }
    index_.packed.push_back(SLUICE_TRY(append_data(data)));
    packed_end_ = file_.size();
    return ok_status();
  }

  /// Requires: `executable.packed` has the packed constants in the order of `add_packed`.
  Status finish(const Executable& executable) {
    if (!index_.packed.empty()) add_section("packed", packed_start_, packed_end_);
    SLUICE_TRY(write_code(executable));
    for (const auto& [name, data] : executable.files) {
      index_.sections.emplace_back(std::string(kFileSection) + name,
                                   SLUICE_TRY(append_data(data.view())));
    }
    flatbuffers::FlatBufferBuilder builder;
    write_index(executable, index_, builder);
    const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
    SLUICE_TRY(file_.pad_to(kDataAlignment));
    const auto extent = extent_of(bytes);
    SLUICE_TRY(file_.append(bytes));
    return write_header(extent);
  }

  /// Where the constant whose bytes began at this address is.
  std::optional<schema::Extent> find_constant(const std::byte* data) const {
    const auto it = numbers_.find(data);
    return it == numbers_.end() ? std::nullopt : std::optional(index_.constants[it->second]);
  }
  /// Where the packed constants are, in order.
  const std::vector<schema::Extent>& packed() const { return index_.packed; }

 private:
  /// Equal bytes are written once, however many operands share them.
  void number_constants(const ir::Graph& graph) {
    for (std::size_t s = 0; s < graph.num_subgraphs(); ++s) {
      const ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(s));
      for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
        const ir::Constant* constant = subgraph.find_constant(ir::OperandId(i));
        if (constant == nullptr || constant->data.size() == 0) continue;
        const auto [it, is_new] = numbers_.emplace(constant->data.data(), numbered_.size());
        if (is_new) numbered_.push_back(constant->data);
      }
    }
  }

  Status write_text(const ir::Graph& graph) {
    const std::string text =
        ir::print(graph, [&](const ir::Constant& constant) -> std::optional<std::size_t> {
          const auto it = numbers_.find(constant.data.data());
          if (it == numbers_.end()) return std::nullopt;
          return it->second;
        });
    const auto bytes = std::as_bytes(std::span(text));
    SLUICE_TRY(file_.pad_to(kDataAlignment));
    index_.sections.emplace_back("graph", extent_of(bytes));
    return file_.append(bytes);
  }

  /// Equal bytes, such as those of layers of one shape, are written once.
  Status write_code(const Executable& executable) {
    if (executable.code.empty()) return ok_status();
    SLUICE_TRY(file_.pad_to(kDataAlignment));
    const std::int64_t start = file_.size();
    std::map<std::string_view, schema::Extent> written;
    const auto append = [&](const Bytes& data, std::vector<schema::Extent>& extents) -> Status {
      const std::string_view key(reinterpret_cast<const char*>(data.data()), data.size());
      auto known = written.find(key);
      if (known == written.end()) {
        const schema::Extent extent = SLUICE_TRY(append_data(data.view()));
        known = written.emplace(key, extent).first;
      }
      extents.push_back(known->second);
      return ok_status();
    };
    for (const OperationCode& entry : executable.code) {
      std::vector<schema::Extent>& extents = index_.code.emplace_back();
      SLUICE_TRY(append(entry.code.source, extents));
      for (const auto& image : entry.code.images) SLUICE_TRY(append(image.data, extents));
    }
    add_section("code", start, file_.size());
    return ok_status();
  }

  /// Appends in pieces, each of which leaves memory again if it is mapped. Large data starts on a
  /// page of its own, so that mapping it maps nothing else.
  Result<schema::Extent> append_data(std::span<const std::byte> bytes) {
    constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
    const bool is_large = static_cast<std::int64_t>(bytes.size()) >= kPageBytes;
    SLUICE_TRY(file_.pad_to(is_large ? kPageBytes : kDataAlignment));
    const auto start = static_cast<std::uint64_t>(file_.size());
    Checksum checksum;
    for (std::size_t at = 0; at < bytes.size(); at += kPieceBytes) {
      const auto piece = bytes.subspan(at, std::min(kPieceBytes, bytes.size() - at));
      checksum.add(piece);
      SLUICE_TRY(file_.append(piece));
      if (is_large) release_pages(piece);
    }
    return schema::Extent(start, bytes.size(), checksum.value());
  }

  /// Extent of bytes that are about to be appended.
  schema::Extent extent_of(std::span<const std::byte> bytes) const {
    return {static_cast<std::uint64_t>(file_.size()), bytes.size(), checksum_of(bytes)};
  }

  /// A section of separately checked pieces has no checksum of its own.
  void add_section(const char* name, std::int64_t start, std::int64_t end) {
    index_.sections.emplace_back(name, schema::Extent(static_cast<std::uint64_t>(start),
                                                      static_cast<std::uint64_t>(end - start), 0));
  }

  Status write_header(const schema::Extent& index) {
    FileHeader header = {};
    std::memcpy(header.magic, kFileMagic.data(), sizeof(header.magic));
    header.format_major = kFormatMajor;
    header.format_minor = kFormatMinor;
    header.file_bytes = static_cast<std::uint64_t>(file_.size());
    header.index_offset = index.offset_bytes();
    header.index_bytes = index.size_bytes();
    header.index_checksum = index.checksum();
    const auto bytes = std::as_bytes(std::span(&header, 1));
    header.header_checksum = checksum_of(bytes.first(offsetof(FileHeader, header_checksum)));
    return file_.overwrite_start(bytes);
  }

  File& file_;
  std::map<const std::byte*, std::size_t> numbers_;
  std::vector<Bytes> numbered_;
  std::int64_t packed_start_ = 0;
  std::int64_t packed_end_ = 0;
  IndexParts index_;
};

}  // namespace sluice::package
