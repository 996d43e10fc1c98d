#include "package/write_index.h"

#include <algorithm>

namespace sluice::package {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::Vector;

Offset<Vector<Offset<schema::Section>>> sections_of(const IndexParts& parts,
                                                    FlatBufferBuilder& builder) {
  auto in_order = parts.sections;
  // In the order of the file, so that equal models make equal bytes.
  std::ranges::sort(in_order, {},
                    [](const auto& section) { return section.second.offset_bytes(); });
  std::vector<Offset<schema::Section>> sections;
  for (const auto& [name, extent] : in_order) {
    sections.push_back(schema::CreateSection(builder, builder.CreateString(name), &extent));
  }
  return builder.CreateVector(sections);
}

Offset<Vector<Offset<schema::Packed>>> packed_of(const Executable& executable,
                                                 const IndexParts& parts,
                                                 FlatBufferBuilder& builder) {
  std::vector<Offset<schema::Packed>> packed;
  for (std::size_t i = 0; i < parts.packed.size(); ++i) {
    const PackedConstant& entry = executable.packed[i];
    packed.push_back(schema::CreatePacked(
        builder, builder.CreateString(entry.backend), builder.CreateString(entry.backend_version),
        builder.CreateString(entry.packing_key), entry.operation, entry.input,
        builder.CreateString(entry.format), &parts.packed[i], entry.subgraph));
  }
  return builder.CreateVector(packed);
}

Offset<Vector<Offset<schema::CodeImage>>> images_of(const ir::KernelCode& code,
                                                    const std::vector<schema::Extent>& extents,
                                                    FlatBufferBuilder& builder) {
  std::vector<Offset<schema::CodeImage>> images;
  for (std::size_t i = 0; i < code.images.size(); ++i) {
    // Extent 0 is the code's own. Those of the images follow.
    images.push_back(schema::CreateCodeImage(builder, builder.CreateString(code.images[i].target),
                                             &extents[i + 1]));
  }
  return builder.CreateVector(images);
}

Offset<Vector<Offset<schema::Code>>> code_of(const Executable& executable, const IndexParts& parts,
                                             FlatBufferBuilder& builder) {
  if (parts.code.empty()) return {};
  std::vector<Offset<schema::Code>> all;
  for (std::size_t i = 0; i < parts.code.size(); ++i) {
    const OperationCode& entry = executable.code[i];
    const ir::KernelCode& code = entry.code;
    const auto images = images_of(code, parts.code[i], builder);
    all.push_back(schema::CreateCode(builder, builder.CreateString(entry.backend), entry.subgraph,
                                     entry.operation, builder.CreateString(code.key),
                                     builder.CreateString(code.function), &parts.code[i].front(),
                                     builder.CreateVector(code.grid.data(), code.grid.size()),
                                     builder.CreateVector(code.block.data(), code.block.size()),
                                     builder.CreateVector(code.arguments), images));
  }
  return builder.CreateVector(all);
}

Offset<Vector<Offset<schema::Body>>> bodies_of(const Executable& executable,
                                               FlatBufferBuilder& builder) {
  std::vector<Offset<schema::Body>> bodies;
  // Subgraph 0 is the main graph, whose backends are a field of the index itself.
  for (std::size_t i = 1; i < executable.backend_of.size(); ++i) {
    if (executable.backend_of[i].empty()) continue;
    bodies.push_back(schema::CreateBody(builder, static_cast<std::uint32_t>(i),
                                        builder.CreateVector(executable.backend_of[i])));
  }
  return builder.CreateVector(bodies);
}

Offset<schema::MemoryPlan> plan_of(const Executable& executable, FlatBufferBuilder& builder) {
  if (!executable.plan) return {};
  return schema::CreateMemoryPlan(builder, builder.CreateVector(executable.plan->offset_bytes),
                                  executable.plan->arena_bytes);
}

Offset<Vector<Offset<schema::Segment>>> segments_of(const Executable& executable,
                                                    FlatBufferBuilder& builder) {
  if (executable.segments.empty()) return {};
  std::vector<Offset<schema::Segment>> segments;
  for (const SegmentSpec& segment : executable.segments) {
    segments.push_back(schema::CreateSegment(builder, builder.CreateString(segment.name),
                                             segment.first_operation, segment.cores));
  }
  return builder.CreateVector(segments);
}

}  // namespace

void write_index(const Executable& executable, const IndexParts& parts,
                 FlatBufferBuilder& builder) {
  // A flatbuffer is written from the leaves up: every child exists before the table that refers to
  // it.
  const auto sections = sections_of(parts, builder);
  const auto packed = packed_of(executable, parts, builder);
  const auto bodies = bodies_of(executable, builder);
  const auto plan = plan_of(executable, builder);
  const auto segments = segments_of(executable, builder);
  const auto code = code_of(executable, parts, builder);
  const auto constants = builder.CreateVectorOfStructs(parts.constants);
  const auto backends = builder.CreateVectorOfStrings(executable.backends);
  const auto backend_of = builder.CreateVector(executable.backend_of.front());
  builder.Finish(schema::CreateIndex(builder, sections, constants, backends, backend_of, plan,
                                     packed, segments, bodies, code));
}

}  // namespace sluice::package
