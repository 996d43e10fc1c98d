#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/file.h"
#include "ir/text/graph_text.h"
#include "ir/verify.h"
#include "package/header.h"
#include "package/index_generated.h"
#include "package/package.h"

namespace sluice::package {
namespace {

bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % alignof(schema::Extent) == 0;
}

/// An empty vector needs no alignment.
template <typename Vector>
bool is_aligned_vector(const Vector& vector) {
  return vector.size() == 0 || is_aligned(vector.Data());
}

bool has_aligned_extents(const schema::Code* code) {
  return is_aligned(code->source()) &&
         std::all_of(code->images()->begin(), code->images()->end(),
                     [](const schema::CodeImage* image) { return is_aligned(image->extent()); });
}

/// What FlatBuffers' own verifier leaves open: whether 8-byte numbers in structs and vectors lie on
/// 8 bytes.
bool has_aligned_numbers(const schema::Index& index) {
  if (!is_aligned_vector(*index.constants())) return false;
  if (index.plan() != nullptr && !is_aligned_vector(*index.plan()->offset_bytes())) return false;
  for (const schema::Section* section : *index.sections()) {
    if (!is_aligned(section->extent())) return false;
  }
  if (index.packed() != nullptr) {
    for (const schema::Packed* packed : *index.packed()) {
      if (!is_aligned(packed->extent())) return false;
    }
  }
  return index.code() == nullptr ||
         std::all_of(index.code()->begin(), index.code()->end(), has_aligned_extents);
}

// The header's checksum of the index has been compared already. Damage beyond that means a hostile
// or buggy writer, so every number in the index is checked before use.
Result<const schema::Index*> parse_index(const Bytes& file, const FileHeader& header) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(file.data() + header.index_offset);
  flatbuffers::Verifier verifier(data, header.index_bytes);
  if (!verifier.VerifyBuffer<schema::Index>(nullptr)) {
    return make_error(Code::kDataLoss, "section \"index\" is malformed");
  }
  const auto* index = flatbuffers::GetRoot<schema::Index>(data);
  if (!has_aligned_numbers(*index)) {
    return make_error(Code::kDataLoss, "section \"index\" is malformed");
  }
  return index;
}

/// The bytes of an extent, after checking that they lie in the file and are aligned.
Result<Bytes> slice(const Bytes& file, const schema::Extent& extent, std::string_view what) {
  // Written as a difference, because the sum of offset and size may overflow.
  if (extent.offset_bytes() > file.size() ||
      extent.size_bytes() > file.size() - extent.offset_bytes() ||
      extent.offset_bytes() % kDataAlignment != 0) {
    return make_error(Code::kDataLoss, "{} lies outside the file", what);
  }
  return file.slice(extent.offset_bytes(), extent.size_bytes());
}

class Reader {
 public:
  Reader(const Bytes& file, const schema::Index& index) : file_(file), index_(index) {}

  Result<Executable> run() {
    // The graph refers to constants by number; assignment and segments are checked against the
    // graph.
    const std::vector<Bytes> constants = SLUICE_TRY(read_constants());
    SLUICE_TRY(read_graph(constants));
    SLUICE_TRY(read_assignment());
    SLUICE_TRY(read_packed());
    SLUICE_TRY(read_code());
    if (const schema::MemoryPlan* plan = index_.plan()) {
      executable_.plan.emplace();
      executable_.plan->offset_bytes.assign(plan->offset_bytes()->begin(),
                                            plan->offset_bytes()->end());
      executable_.plan->arena_bytes = plan->arena_bytes();
    }
    SLUICE_TRY(read_segments());
    SLUICE_TRY(read_files());
    return std::move(executable_);
  }

 private:
  Result<std::vector<Bytes>> read_constants() {
    std::vector<Bytes> constants;
    for (const schema::Extent* extent : *index_.constants()) {
      const std::string what = fmt::format("section \"constants\": entry {}", constants.size());
      constants.push_back(SLUICE_TRY(read_data(*extent, what)));
    }
    return constants;
  }

  Status read_graph(const std::vector<Bytes>& constants) {
    for (const schema::Section* section : *index_.sections()) {
      // Unknown sections are passed over: a later minor version may add some.
      if (section->name()->string_view() != "graph") continue;
      const Bytes text = SLUICE_TRY(slice(file_, *section->extent(), "section \"graph\""));
      // Compared at once, unlike the constants: everything else is read by what the graph says.
      if (!matches(text.view(), section->extent()->checksum())) {
        return make_error(Code::kDataLoss, "section \"graph\" is damaged");
      }
      const std::string_view view(reinterpret_cast<const char*>(text.data()), text.size());
      auto graph = ir::parse_graph(view, constants).with_context("section \"graph\"");
      executable_.graph = SLUICE_TRY(std::move(graph));
      SLUICE_TRY(ir::verify(executable_.graph).with_context("section \"graph\""));
      return ok_status();
    }
    return make_error(Code::kDataLoss, "section \"graph\" is missing");
  }

  Status read_assignment() {
    for (const auto* backend : *index_.backends()) executable_.backends.push_back(backend->str());
    executable_.backend_of.resize(executable_.graph.num_subgraphs());
    SLUICE_TRY(read_body(0, *index_.backend_of()));
    if (index_.bodies() == nullptr) return ok_status();
    for (const schema::Body* body : *index_.bodies()) {
      const std::size_t subgraph = body->subgraph();
      if (subgraph == 0 || subgraph >= executable_.backend_of.size()) {
        return make_error(Code::kDataLoss, "section \"index\": subgraph {} does not exist",
                          subgraph);
      }
      SLUICE_TRY(read_body(subgraph, *body->backend_of()));
    }
    return ok_status();
  }

  Status read_body(std::size_t subgraph, const flatbuffers::Vector<std::int16_t>& numbers) {
    std::vector<std::int16_t>& backend_of = executable_.backend_of[subgraph];
    backend_of.assign(numbers.begin(), numbers.end());
    // -1: the operation has no backend, as steps of the executor have none.
    const auto num_backends = static_cast<std::int16_t>(executable_.backends.size());
    const bool in_range =
        std::all_of(backend_of.begin(), backend_of.end(),
                    [&](std::int16_t backend) { return backend >= -1 && backend < num_backends; });
    const ir::SubgraphId id(subgraph);
    if (in_range && backend_of.size() == executable_.graph.subgraph(id).num_operations()) {
      return ok_status();
    }
    return make_error(Code::kDataLoss, "section \"index\": backends do not match subgraph {}",
                      subgraph);
  }

  Status read_packed() {
    if (index_.packed() == nullptr) return ok_status();
    for (const schema::Packed* entry : *index_.packed()) {
      const std::string what =
          fmt::format("section \"packed\": entry {}", executable_.packed.size());
      Bytes data = SLUICE_TRY(read_data(*entry->extent(), what));
      executable_.packed.push_back({entry->backend()->str(), entry->backend_version()->str(),
                                    entry->packing_key()->str(), entry->operation(), entry->input(),
                                    entry->format()->str(), std::move(data), entry->subgraph()});
    }
    return ok_status();
  }

  /// The bytes of an extent that `verify` knows from now on.
  Result<Bytes> read_data(const schema::Extent& extent, std::string_view what) {
    Bytes data = SLUICE_TRY(slice(file_, extent, what));
    // Only noted: the load compares them while it does other work.
    executable_.checksums.emplace(data.data(), extent.checksum());
    return data;
  }

  Status read_code() {
    if (index_.code() == nullptr) return ok_status();
    for (const schema::Code* entry : *index_.code()) {
      const std::string what = fmt::format("section \"code\": entry {}", executable_.code.size());
      const std::pair place(entry->subgraph(), entry->operation());
      // Sorted by place and unique: find_code searches by bisection.
      const bool is_next =
          executable_.code.empty() ||
          std::pair(executable_.code.back().subgraph, executable_.code.back().operation) < place;
      if (!is_next || entry->grid()->size() != 3 || entry->block()->size() != 3) {
        return make_error(Code::kDataLoss, "{} is malformed", what);
      }
      OperationCode read = {entry->backend()->str(), place.first, place.second, {}};
      read.code.key = entry->key()->str();
      read.code.function = entry->function()->str();
      read.code.source = SLUICE_TRY(read_data(*entry->source(), what));
      std::copy_n(entry->grid()->begin(), 3, read.code.grid.begin());
      std::copy_n(entry->block()->begin(), 3, read.code.block.begin());
      read.code.arguments.assign(entry->arguments()->begin(), entry->arguments()->end());
      for (const schema::CodeImage* image : *entry->images()) {
        Bytes data = SLUICE_TRY(read_data(*image->extent(), what));
        read.code.images.push_back({image->target()->str(), std::move(data)});
      }
      executable_.code.push_back(std::move(read));
    }
    return ok_status();
  }

  Status read_segments() {
    if (index_.segments() == nullptr) return ok_status();
    for (const schema::Segment* segment : *index_.segments()) {
      executable_.segments.push_back(
          {segment->name()->str(), segment->first_operation(), segment->cores()});
    }
    // Computes the segments from what was read, which checks that they fit the graph.
    return segments_of(executable_).with_context("section \"index\"").status();
  }

  Status read_files() {
    for (const schema::Section* section : *index_.sections()) {
      const std::string name = section->name()->str();
      if (!name.starts_with(kFileSection)) continue;
      const std::string what = fmt::format("section \"{}\"", name.substr(0, kMaxFileName));
      Bytes data = SLUICE_TRY(slice(file_, *section->extent(), what));
      // Limits of the format, as files of a model (a tokenizer, a chat template) are few and have
      // short names.
      if (name.size() > kMaxFileName || data.size() == 0 || executable_.files.size() >= kMaxFiles) {
        return make_error(Code::kDataLoss, "{} has a long name or no bytes, or there are too many",
                          what);
      }
      executable_.checksums.emplace(data.data(), section->extent()->checksum());
      executable_.files.emplace(name.substr(kFileSection.size()), std::move(data));
    }
    return ok_status();
  }

  const Bytes& file_;
  const schema::Index& index_;
  Executable executable_;
};

}  // namespace

Result<Executable> parse_package(const Bytes& file) {
  const FileHeader header = SLUICE_TRY(parse_header(file));
  const schema::Index* index = SLUICE_TRY(parse_index(file, header));
  return Reader(file, *index).run();
}

Result<Executable> read_package(const std::filesystem::path& path) {
  const Bytes file = SLUICE_TRY(map_file(path));
  return parse_package(file).with_context(path.string());
}

Result<std::vector<SectionInfo>> list_sections(const Bytes& file) {
  const FileHeader header = SLUICE_TRY(parse_header(file));
  const schema::Index* index = SLUICE_TRY(parse_index(file, header));
  std::vector<SectionInfo> sections = {{"header", 0, sizeof(FileHeader)}};
  for (const schema::Section* section : *index->sections()) {
    const schema::Extent& extent = *section->extent();
    sections.push_back({section->name()->str(), static_cast<std::int64_t>(extent.offset_bytes()),
                        static_cast<std::int64_t>(extent.size_bytes())});
  }
  sections.push_back({"index", static_cast<std::int64_t>(header.index_offset),
                      static_cast<std::int64_t>(header.index_bytes)});
  return sections;
}

}  // namespace sluice::package
