// File order: header, graph, constants, packed constants, index.
#include <cstring>
#include <map>
#include <utility>

#include "base/file.h"
#include "ir/text/graph_text.h"
#include "package/header.h"
#include "package/index_generated.h"
#include "package/memory_file.h"
#include "package/package.h"
#include "package/package_bytes.h"

namespace sluice::package {
namespace {

/// `File` is an AtomicFile or a MemoryFile.
template <typename File>
class Writer {
 public:
  Writer(const Executable& executable, File& file) : executable_(executable), file_(file) {}

  Status run() {
    SLUICE_TRY(file_.append(std::vector<std::byte>(sizeof(FileHeader))));
    number_constants();
    SLUICE_TRY(write_graph());
    SLUICE_TRY(write_constants());
    SLUICE_TRY(write_packed());
    return write_index();
  }

 private:
  /// Equal bytes are written once, however many operands share them.
  void number_constants() {
    for (std::size_t s = 0; s < executable_.graph.num_subgraphs(); ++s) {
      const ir::Subgraph& subgraph = executable_.graph.subgraph(ir::SubgraphId(s));
      for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
        const ir::Constant* constant = subgraph.find_constant(ir::OperandId(i));
        if (constant == nullptr || constant->data.size() == 0) continue;
        const auto [it, is_new] = numbers_.emplace(constant->data.data(), numbered_.size());
        if (is_new) numbered_.push_back(constant->data);
      }
    }
  }

  Status write_graph() {
    const std::string text = ir::print(
        executable_.graph, [&](const ir::Constant& constant) -> std::optional<std::size_t> {
          const auto it = numbers_.find(constant.data.data());
          if (it == numbers_.end()) return std::nullopt;
          return it->second;
        });
    const auto extent = SLUICE_TRY(append(std::as_bytes(std::span(text)), kDataAlignment));
    sections_.emplace_back("graph", extent);
    return ok_status();
  }

  Status write_constants() {
    SLUICE_TRY(file_.pad_to(kPageBytes));
    const std::int64_t begin = file_.size();
    for (const Bytes& data : numbered_) {
      constants_.push_back(SLUICE_TRY(append(data.view(), alignment_of(data))));
    }
    add_section("constants", begin);
    return ok_status();
  }

  Status write_packed() {
    SLUICE_TRY(file_.pad_to(kPageBytes));
    const std::int64_t begin = file_.size();
    for (const PackedConstant& packed : executable_.packed) {
      packed_.push_back(SLUICE_TRY(append(packed.data.view(), alignment_of(packed.data))));
    }
    if (!packed_.empty()) add_section("packed", begin);
    return ok_status();
  }

  /// Large data starts on a page of its own, so that mapping it maps nothing else.
  static std::int64_t alignment_of(const Bytes& data) {
    return static_cast<std::int64_t>(data.size()) >= kPageBytes ? kPageBytes : kDataAlignment;
  }

  Result<schema::Extent> append(std::span<const std::byte> bytes, std::int64_t alignment) {
    SLUICE_TRY(file_.pad_to(alignment));
    const auto offset = static_cast<std::uint64_t>(file_.size());
    SLUICE_TRY(file_.append(bytes));
    return schema::Extent(offset, bytes.size(), checksum_of(bytes));
  }

  /// A section of separately checked pieces has no checksum of its own.
  void add_section(const char* name, std::int64_t begin) {
    sections_.emplace_back(name,
                           schema::Extent(static_cast<std::uint64_t>(begin),
                                          static_cast<std::uint64_t>(file_.size() - begin), 0));
  }

  Status write_index() {
    flatbuffers::FlatBufferBuilder builder;
    finish_index(builder);
    const auto index = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
    const auto extent = SLUICE_TRY(append(index, kDataAlignment));
    FileHeader header = {};
    std::memcpy(header.magic, kFileMagic.data(), sizeof(header.magic));
    header.format_major = kFormatMajor;
    header.format_minor = kFormatMinor;
    header.file_bytes = static_cast<std::uint64_t>(file_.size());
    header.index_offset = extent.offset_bytes();
    header.index_bytes = extent.size_bytes();
    header.index_checksum = extent.checksum();
    const auto bytes = std::as_bytes(std::span(&header, 1));
    header.header_checksum = checksum_of(bytes.first(offsetof(FileHeader, header_checksum)));
    return file_.overwrite_start(bytes);
  }

  std::vector<flatbuffers::Offset<schema::Segment>> make_segments(
      flatbuffers::FlatBufferBuilder& builder) const {
    std::vector<flatbuffers::Offset<schema::Segment>> segments;
    for (const SegmentSpec& segment : executable_.segments) {
      segments.push_back(schema::CreateSegment(builder, builder.CreateString(segment.name),
                                               segment.first_operation, segment.cores));
    }
    return segments;
  }

  void finish_index(flatbuffers::FlatBufferBuilder& builder) {
    std::vector<flatbuffers::Offset<schema::Section>> sections;
    for (const auto& [name, extent] : sections_) {
      sections.push_back(schema::CreateSection(builder, builder.CreateString(name), &extent));
    }
    std::vector<flatbuffers::Offset<schema::Packed>> packed;
    for (std::size_t i = 0; i < packed_.size(); ++i) {
      const PackedConstant& entry = executable_.packed[i];
      packed.push_back(schema::CreatePacked(
          builder, builder.CreateString(entry.backend), builder.CreateString(entry.backend_version),
          builder.CreateString(entry.packing_key), entry.operation, entry.input,
          builder.CreateString(entry.format), &packed_[i], entry.subgraph));
    }
    std::vector<flatbuffers::Offset<schema::Body>> bodies;
    for (std::size_t i = 1; i < executable_.backend_of.size(); ++i) {
      if (executable_.backend_of[i].empty()) continue;
      bodies.push_back(schema::CreateBody(builder, static_cast<std::uint32_t>(i),
                                          builder.CreateVector(executable_.backend_of[i])));
    }
    flatbuffers::Offset<schema::MemoryPlan> plan;
    if (executable_.plan) {
      plan = schema::CreateMemoryPlan(builder, builder.CreateVector(executable_.plan->offset_bytes),
                                      executable_.plan->arena_bytes);
    }
    flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::Segment>>> segments;
    if (!executable_.segments.empty()) segments = builder.CreateVector(make_segments(builder));
    builder.Finish(schema::CreateIndex(
        builder, builder.CreateVector(sections), builder.CreateVectorOfStructs(constants_),
        builder.CreateVectorOfStrings(executable_.backends),
        builder.CreateVector(executable_.backend_of.front()), plan, builder.CreateVector(packed),
        segments, builder.CreateVector(bodies)));
  }

  const Executable& executable_;
  File& file_;
  std::map<const std::byte*, std::size_t> numbers_;
  std::vector<Bytes> numbered_;
  std::vector<std::pair<std::string, schema::Extent>> sections_;
  std::vector<schema::Extent> constants_;
  std::vector<schema::Extent> packed_;
};

}  // namespace

Status write_package(const Executable& executable, const std::filesystem::path& path) {
  AtomicFile file = SLUICE_TRY(AtomicFile::create(path));
  SLUICE_TRY(Writer(executable, file).run());
  return file.commit();
}

Result<Bytes> package_bytes(const Executable& executable) {
  MemoryFile file = SLUICE_TRY(MemoryFile::create());
  SLUICE_TRY(Writer(executable, file).run());
  return file.map();
}

}  // namespace sluice::package
