#include "package/package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "ir/text/graph_text.h"
#include "package/draft.h"
#include "package/facts.h"
#include "package/header.h"

namespace sluice::package {
namespace {

constexpr std::string_view kGraph = R"(fact "producer" = "test"
subgraph @0 "main" {
  input %x : f32[N,2]
  const %w : f32[2] = [1.0, 2.0]
  const %big : f32[2048] = splat 0.5
  [%a : f32[N,2]] = Add.14[%x, %w]
  [%y : f32[N,2]] = Relu.14[%a] "last"
  output [%y, %big]
}
)";

Bytes bytes_of(std::string_view text) {
  return MutableBytes::copy_of(std::as_bytes(std::span(text))).freeze();
}

Executable example() {
  Executable executable;
  executable.graph = ir::parse_graph(kGraph).value();
  executable.backends = {"cpu", "reference"};
  executable.backend_of = {{1, 0}};
  executable.plan = plan::ArenaLayout{{0, 64}, 128};
  executable.packed.push_back({"cpu", "1.0", "avx512", 0, 1, "panel16",
                               Bytes::own(std::vector<std::byte>(5000, std::byte{7}))});
  for (const std::uint32_t operation : {0U, 1U}) {
    OperationCode& entry = executable.code.emplace_back();
    entry.backend = operation == 0 ? "reference" : "cpu";
    entry.operation = operation;
    entry.code = {"key", "run", bytes_of("source"), {1, 2, 3}, {4, 5, 6}, {0, -1}, {}};
    entry.code.images = {{"compute_75", bytes_of("text")}, {"sm_80", bytes_of("machine code")}};
  }
  return executable;
}

class PackageTest : public ::testing::Test {
 protected:
  PackageTest()
      : path_(std::filesystem::path(::testing::TempDir()) /
              (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
               ".sluice")) {}
  ~PackageTest() override { std::filesystem::remove(path_); }

  std::string written() {
    EXPECT_TRUE(write_package(example(), path_).is_ok());
    return read_text_file(path_).value();
  }

  Result<Executable> read(const std::string& bytes) {
    const auto view = std::as_bytes(std::span(bytes));
    SLUICE_TRY(write_file_atomically(path_, view));
    return read_package(path_);
  }

  std::filesystem::path path_;
};

TEST_F(PackageTest, ReadsBackWithoutConstantsOrPlan) {
  std::string steps;
  for (int count = 1; count <= 4; ++count) {  // every alignment at which an empty list may lie
    steps += fmt::format("  [%y{} : f32[N,2]] = Relu.14[%x]\n", count);
    Executable bare;
    bare.graph = ir::parse_graph("subgraph @0 \"main\" {\n  input %x : f32[N,2]\n" + steps +
                                 "  output [%y1]\n}\n")
                     .value();
    bare.backends = {"cpu"};
    bare.backend_of = {std::vector<std::int16_t>(static_cast<std::size_t>(count), 0)};
    ASSERT_TRUE(write_package(bare, path_).is_ok());
    const auto executable = read_package(path_);
    EXPECT_TRUE(executable.is_ok()) << executable.status().to_string();
  }
}

TEST_F(PackageTest, ModelOfTextsWantsAllCoresUnlessItsSegmentsSayAnother) {
  Executable texts = example();
  texts.backend_of = {{0, 0}};
  const std::size_t num_segments = segments_of(texts)->size();
  texts.graph.metadata[kGenerationFact] = "{}";
  ASSERT_EQ(num_segments, 1U);
  EXPECT_EQ(segments_of(texts)->front().cores, 0);
  texts.segments = {{"all", 0, 3}};
  EXPECT_EQ(segments_of(texts)->front().cores, 3);
  texts.segments = {{"all", 0, 0}};
  ASSERT_TRUE(write_package(texts, path_).is_ok());
  EXPECT_EQ(read_package(path_)->segments, texts.segments);
  texts.segments = {{"all", 0, -1}};
  EXPECT_EQ(segments_of(texts).status().code(), Code::kDataLoss);
  texts.segments = {{"first", 0, 1}, {"second", 1, 0}};
  EXPECT_EQ(segments_of(texts).status().code(), Code::kDataLoss);
}

TEST_F(PackageTest, ReplacesNoFileThatIsNone) {
  for (const std::string text : {"x", "SLUICE", "a model of somebody"}) {
    ASSERT_TRUE(write_file_atomically(path_, std::as_bytes(std::span(text))).is_ok());
    EXPECT_EQ(write_package(example(), path_).code(), Code::kInvalidArgument);
    EXPECT_EQ(Draft::create(path_).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(read_text_file(path_).value(), text);
  }
  ASSERT_TRUE(write_file_atomically(path_, {}).is_ok());
  EXPECT_TRUE(write_package(example(), path_).is_ok()) << "an empty file is a name that was kept";
  EXPECT_TRUE(write_package(example(), path_).is_ok());
}

TEST_F(PackageTest, RoundTripKeepsTheExecutable) {
  written();
  const auto executable = read_package(path_);
  ASSERT_TRUE(executable.is_ok()) << executable.status().to_string();
  EXPECT_EQ(ir::print(executable->graph), kGraph);
  EXPECT_EQ(executable->backends, example().backends);
  EXPECT_EQ(executable->backend_of, example().backend_of);
  ASSERT_TRUE(executable->plan.has_value());
  EXPECT_EQ(executable->plan->offset_bytes, example().plan->offset_bytes);
  ASSERT_EQ(executable->packed.size(), 1U);
  EXPECT_EQ(executable->packed[0].format, "panel16");
  EXPECT_EQ(executable->packed[0].data.size(), 5000U);
  EXPECT_TRUE(executable->verify(executable->packed[0].data, "packed").is_ok());
}

TEST_F(PackageTest, LargeConstantsStartOnAPage) {
  written();
  const auto executable = read_package(path_);
  ASSERT_TRUE(executable.is_ok());
  const ir::Subgraph& main = executable->graph.main();
  for (std::size_t i = 0; i < main.num_operands(); ++i) {
    const ir::Constant* constant = main.find_constant(ir::OperandId(i));
    if (constant == nullptr || constant->data.size() < 4096) continue;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(constant->data.data()) % 4096, 0U);
    EXPECT_TRUE(executable->verify(constant->data, "constant").is_ok());
  }
}

TEST_F(PackageTest, SegmentsAreKept) {
  Executable executable = example();
  executable.segments = {{"front", 0, 4}, {"back", 1, 1}};
  ASSERT_TRUE(write_package(executable, path_).is_ok());
  const auto again = read_package(path_);
  ASSERT_TRUE(again.is_ok()) << again.status().to_string();
  EXPECT_EQ(again->segments, executable.segments);
}

TEST_F(PackageTest, SegmentsThatDoNotFitTheGraphAreRefused) {
  Executable executable = example();
  executable.segments = {{"front", 0, 4}, {"back", 2, 1}};
  ASSERT_TRUE(write_package(executable, path_).is_ok());
  EXPECT_EQ(read_package(path_).status().code(), Code::kDataLoss);
}

TEST(SegmentsOf, DefaultSegmentsFollowTheBackends) {
  const auto segments = segments_of(example());
  ASSERT_TRUE(segments.is_ok());
  EXPECT_EQ(*segments, (std::vector<SegmentSpec>{{"segment 0", 0, 1}, {"segment 1", 1, 1}}));
}

TEST_F(PackageTest, WritingIsDeterministic) { EXPECT_EQ(written(), written()); }

TEST_F(PackageTest, EveryTruncationIsRefused) {
  const std::string whole = written();
  for (std::size_t size = 0; size < whole.size(); size += size < 256 ? 1 : 97) {
    EXPECT_FALSE(read(whole.substr(0, size)).is_ok()) << size;
  }
}

std::string bytes_of_extent(std::uint64_t offset, std::uint64_t size) {
  std::string bytes(2 * sizeof(offset), 0);
  std::memcpy(bytes.data(), &offset, sizeof(offset));
  std::memcpy(bytes.data() + sizeof(offset), &size, sizeof(size));
  return bytes;
}

/// The package with checksums of the index and the header that fit again.
std::string with_checksums(std::string package) {
  FileHeader header;
  std::memcpy(&header, package.data(), sizeof(header));
  const auto bytes = std::as_bytes(std::span(package));
  header.index_checksum = checksum_of(bytes.subspan(header.index_offset, header.index_bytes));
  const auto fields = std::as_bytes(std::span(&header, 1));
  header.header_checksum = checksum_of(fields.first(offsetof(FileHeader, header_checksum)));
  std::memcpy(package.data(), &header, sizeof(header));
  return package;
}

TEST_F(PackageTest, ExtentsThatLeaveTheFileAreRefused) {
  const std::string whole = written();
  const auto sections = list_sections(map_file(path_).value()).value();
  const auto graph = std::ranges::find(sections, "graph", &SectionInfo::name);
  const auto index = std::ranges::find(sections, "index", &SectionInfo::name);
  const auto offset = static_cast<std::uint64_t>(graph->offset_bytes);
  const auto size = static_cast<std::uint64_t>(graph->size_bytes);
  const std::size_t at =
      whole.find(bytes_of_extent(offset, size), static_cast<std::size_t>(index->offset_bytes));
  ASSERT_NE(at, std::string::npos);
  const std::uint64_t aligned_end = (whole.size() + 63) / 64 * 64;
  for (const auto& [bad_offset, bad_size] :
       {std::pair(offset, whole.size() - offset + 1), std::pair(aligned_end + 64, size),
        std::pair(offset, ~std::uint64_t{0}), std::pair(offset + 1, size)}) {
    std::string altered = whole;
    altered.replace(at, 2 * sizeof(offset), bytes_of_extent(bad_offset, bad_size));
    EXPECT_THAT(read(with_checksums(altered)).status().message(),
                ::testing::HasSubstr("section \"graph\" lies outside the file"))
        << bad_offset << " " << bad_size;
  }
  EXPECT_TRUE(read(with_checksums(whole)).is_ok());
}

TEST_F(PackageTest, EveryFlippedByteIsFoundOnReadingOrOnUse) {
  const std::string whole = written();
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    std::string altered = whole;
    altered[at] = static_cast<char>(altered[at] ^ 0x40);
    const auto executable = read(altered);
    if (!executable.is_ok()) continue;
    bool is_found = !executable->verify(executable->packed[0].data, "packed").is_ok();
    const ir::Subgraph& main = executable->graph.main();
    for (std::size_t i = 0; i < main.num_operands(); ++i) {
      const ir::Constant* constant = main.find_constant(ir::OperandId(i));
      if (constant != nullptr) is_found |= !executable->verify(constant->data, "c").is_ok();
    }
    for (const auto& [name, data] : executable->files) {
      is_found |= !executable->verify(data, name).is_ok();
    }
    for (const OperationCode& entry : executable->code) {
      is_found |= !executable->verify(entry.code.source, "source").is_ok();
      for (const auto& image : entry.code.images) {
        is_found |= !executable->verify(image.data, "image").is_ok();
      }
    }
    // Padding between sections carries nothing.
    EXPECT_TRUE(is_found || whole[at] == '\0') << "byte " << at;
  }
}

TEST_F(PackageTest, FilesOfOtherFormatsAreNamed) {
  const Status status = read(std::string(100, 'x')).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("not a .sluice file"), std::string::npos) << status.message();
}

TEST_F(PackageTest, KeepsCompiledKernelsAndStoresEqualBytesOnce) {
  const auto executable = read(written());
  ASSERT_TRUE(executable.is_ok()) << executable.status().to_string();
  EXPECT_EQ(executable->find_code(ir::SubgraphId(0), 0, "cpu"), nullptr);
  EXPECT_EQ(executable->find_code(ir::SubgraphId(0), 2, "cpu"), nullptr);
  const ir::KernelCode* first = executable->find_code(ir::SubgraphId(0), 0, "reference");
  const ir::KernelCode* second = executable->find_code(ir::SubgraphId(0), 1, "cpu");
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(first->key + first->function, "keyrun");
  EXPECT_EQ(first->grid, (std::array<std::uint32_t, 3>{1, 2, 3}));
  EXPECT_EQ(first->block, (std::array<std::uint32_t, 3>{4, 5, 6}));
  EXPECT_EQ(first->arguments, (std::vector<std::int32_t>{0, -1}));
  ASSERT_EQ(first->images.size(), 2U);
  EXPECT_EQ(first->images[1].target, "sm_80");
  EXPECT_EQ(first->images[1].data.data(), second->images[1].data.data());
  EXPECT_TRUE(executable->verify(first->images[1].data, "code").is_ok());
}

TEST_F(PackageTest, DamagedKernelIsFound) {
  std::string bytes = written();
  bytes[bytes.find("machine code")] = 'M';
  const auto executable = read(bytes);
  ASSERT_TRUE(executable.is_ok()) << executable.status().to_string();
  const ir::KernelCode* code = executable->find_code(ir::SubgraphId(0), 0, "reference");
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(executable->verify(code->images[1].data, "code").code(), Code::kDataLoss);
}

TEST_F(PackageTest, RefusesCompiledKernelsOutOfOrder) {
  Executable executable = example();
  std::swap(executable.code[0], executable.code[1]);
  ASSERT_TRUE(write_package(executable, path_).is_ok());
  EXPECT_EQ(read_package(path_).status().code(), Code::kDataLoss);
}

TEST_F(PackageTest, SectionsAreListedWithTheirPlaces) {
  written();
  const auto sections = list_sections(map_file(path_).value());
  ASSERT_TRUE(sections.is_ok());
  std::vector<std::string> names;
  for (const SectionInfo& section : *sections) names.push_back(section.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"header", "graph", "constants", "packed", "code", "index"}));
}

TEST(SignatureOf, LeadingSymbolIsTheBatchAxis) {
  const terms::Signature signature = signature_of(example().graph);
  EXPECT_EQ(signature.inputs[0].name, "x");
  EXPECT_EQ(signature.inputs[0].batch_axis, 0);
  EXPECT_EQ(signature.outputs[1].batch_axis, -1);
}

TEST(NameOf, PackageWithoutANameThatCanBePrintedHasNone) {
  Executable executable = example();
  EXPECT_EQ(name_of(executable), "");
  executable.graph.metadata[kNameFact] = "resnet50";
  EXPECT_EQ(name_of(executable), "resnet50");
  executable.graph.metadata[kNameFact] = "two\nlines";
  EXPECT_EQ(name_of(executable), "");
}

constexpr std::string_view kBranches = R"(subgraph @0 "main" {
  input %c : bool[]
  input %x : f32[2]
  [%y : f32[2]] = If.25[%c, %x] {captures = 1, else_branch = @2, then_branch = @1}
  output [%y]
}
subgraph @1 "then" {
  input %x : f32[2]
  [%y : f32[2]] = Relu.14[%x]
  output [%y]
}
subgraph @2 "else" {
  input %x : f32[2]
  output [%x]
}
)";

Executable with_branches() {
  Executable executable;
  executable.graph = ir::parse_graph(kBranches).value();
  executable.backends = {"cpu"};
  executable.backend_of = {{-1}, {0}, {}};
  executable.packed.push_back({"cpu", "1.0", "avx512", 0, 0, "panel16",
                               Bytes::own(std::vector<std::byte>(64, std::byte{7})), 1});
  return executable;
}

TEST_F(PackageTest, KeepsBackendsOfSubgraphOperations) {
  ASSERT_TRUE(write_package(with_branches(), path_).is_ok());
  const auto executable = read_package(path_);
  ASSERT_TRUE(executable.is_ok()) << executable.status().to_string();
  EXPECT_EQ(ir::print(executable->graph), kBranches);
  EXPECT_EQ(executable->backend_of, with_branches().backend_of);
  EXPECT_EQ(executable->packed[0].subgraph, 1U);
}

TEST_F(PackageTest, RefusesAnAssignmentThatDoesNotFitItsSubgraph) {
  for (const std::vector<std::int16_t>& wrong :
       {std::vector<std::int16_t>{0, 0}, std::vector<std::int16_t>{1}}) {
    Executable executable = with_branches();
    executable.backend_of[1] = wrong;
    ASSERT_TRUE(write_package(executable, path_).is_ok());
    EXPECT_EQ(read_package(path_).status().code(), Code::kDataLoss);
  }
}

}  // namespace
}  // namespace sluice::package
