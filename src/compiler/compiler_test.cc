// Reaches the compiler as a program does: by the public headers and libraries alone.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#define XXH_INLINE_ALL  // no library beside the compiler's
#include <xxhash.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/compile.hpp"
#include "support/paths.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr sluice::Code kInvalidArgument = sluice::Code::kInvalidArgument;
constexpr sluice::Code kNotFound = sluice::Code::kNotFound;

std::string digits() { return testing::source_path("examples/digits/digits.onnx").string(); }

std::vector<std::byte> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> copy(Package& package) {
  const auto bytes = package.bytes();
  EXPECT_TRUE(bytes);
  return {(*bytes).begin(), (*bytes).end()};
}

TEST(SluiceCompile, SavedPackageRuns) {
  std::vector<std::string> phases;
  const CompileOptions options = {
      .progress = [&](std::string_view phase) { phases.emplace_back(phase); }};
  auto package = compile_file(digits(), options);
  ASSERT_TRUE(package) << package.error().message;
  EXPECT_GT(package->num_operations(), 0U);
  EXPECT_THAT(phases, Contains("import"));
  const auto path = std::filesystem::path(::testing::TempDir()) / "compiler_test.sluice";
  ASSERT_FALSE(package->save(path.string()));
  EXPECT_EQ(read(path.string()), copy(*package));
  auto model = Model::open(path.string(), 1);
  ASSERT_TRUE(model) << model.error().message;
  auto context = model->create_context();
  const std::vector<float> pixels(64);
  ASSERT_FALSE(context->set_input<float>("image", pixels, {1, 1, 8, 8}));
  EXPECT_FALSE(context->run());
  EXPECT_EQ(context->output<float>(model->output(0).name)->values.size(), 10U);
  std::filesystem::remove(path);
}

TEST(SluiceCompile, OutputIsWhatSaveWrites) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "compiler_output";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string saved = folder / "saved.sluice";
  const std::string written = folder / "written.sluice";
  auto in_memory = compile_file(digits());
  ASSERT_FALSE(in_memory->save(saved));
  for (const bool has_path : {true, false}) {
    const CompileOptions options = {.output = written};
    auto package =
        has_path ? compile_file(digits(), options) : compile_bytes(read(digits()), options);
    ASSERT_TRUE(package) << package.error().message;
    EXPECT_EQ(read(written), read(saved));
    EXPECT_EQ(copy(*package), read(saved)) << "the package is there, too";
  }
  EXPECT_EQ(compile_file(digits(), {.output = folder / "none" / "x.sluice"}).error().code,
            kNotFound);
  std::filesystem::remove(written);
  EXPECT_FALSE(compile_file(digits(), {.options = {"--shape", "image=1"}, .output = written}));
  EXPECT_FALSE(std::filesystem::exists(written));
  std::filesystem::remove_all(folder);
}

TEST(SluiceCompile, PackedOnlyPackageIsSmallerAndRuns) {
  const std::vector<std::string> flags = {"--packed-only"};
  auto whole = compile_file(digits());
  auto package = compile_file(digits(), {.options = flags});
  ASSERT_TRUE(package) << package.error().message;
  const auto bytes = copy(*package);
  EXPECT_LT(bytes.size(), copy(*whole).size());
  const auto path = std::filesystem::path(::testing::TempDir()) / "packed_only.sluice";
  ASSERT_FALSE(package->save(path.string()));
  auto model = Model::open(path.string(), 1);
  ASSERT_TRUE(model) << model.error().message;
  auto context = model->create_context();
  const std::vector<float> pixels(64);
  ASSERT_FALSE(context->set_input<float>("image", pixels, {1, 1, 8, 8}));
  EXPECT_FALSE(context->run());
  std::filesystem::remove(path);
}

TEST(SluiceCompile, PathBytesAndDescriptorGiveOnePackage) {
  const auto model = read(digits());
  auto from_path = compile_file(digits());
  auto from_bytes = compile_bytes(model);
  const int fd = ::open(digits().c_str(), O_RDONLY | O_CLOEXEC);
  sluice_compile_request request = {};
  request.fd = fd;
  request.has_fd = 1;
  auto from_fd = compile(request, {});
  ::close(fd);
  ASSERT_TRUE(from_path && from_bytes && from_fd);
  EXPECT_EQ(copy(*from_path), copy(*from_bytes));
  EXPECT_EQ(copy(*from_path), copy(*from_fd));
}

std::map<std::string, std::string> facts_of(Expected<Package>& package) {
  EXPECT_TRUE(package);
  auto model = Model::open_copy(*package->bytes(), 1);
  return model->metadata();
}

TEST(SluiceCompile, PackageSaysWhereItComesFrom) {
  auto plain = compile_file(digits());
  const auto facts = facts_of(plain);
  EXPECT_EQ(facts.at("name"), "digits");
  EXPECT_THAT(facts.at("producer"), HasSubstr("sluice"));
  EXPECT_EQ(facts.at("compiler"), std::string("sluice ") + sluice_version());
  EXPECT_EQ(facts.at("options"), "--backend cpu");
  const auto file = read(digits());
  std::array<char, 32> digest = {};
  std::snprintf(digest.data(), digest.size(), "xxh3:%016llx",
                static_cast<unsigned long long>(XXH3_64bits(file.data(), file.size())));
  EXPECT_EQ(facts.at("digest"), digest.data());
}

TEST(SluiceCompile, PackageNamesItsOptionsAndNoPath) {
  const testing::TempDir folder;
  const std::string graphs = (folder / "graphs").string();
  auto package =
      compile_file(digits(), {.options = {"--weights", "bf16", "--graphs", graphs, "--no-pack",
                                          "--shape", "image=1,1,8,8", "--cut", "conv2"}});
  EXPECT_EQ(facts_of(package).at("options"),
            "--backend cpu --shape image=1,1,8,8 --cut conv2 --weights bf16 --no-pack");
  const auto bytes = copy(*package);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(text.find(folder.path().string()), std::string_view::npos);
}

TEST(SluiceCompile, OptionsAreThoseOfTheCommand) {
  const auto narrow = compile_file(digits(), {.options = {"--weights", "bf16", "--no-pack"}});
  EXPECT_TRUE(narrow) << narrow.error().message;
  const auto unknown = compile_file(digits(), {.options = {"--wieghts", "bf16"}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, kInvalidArgument);
  EXPECT_THAT(unknown.error().message, HasSubstr("did you mean --weights?"));
}

TEST(SluiceCompile, GraphsOfThePassesGoToAFolder) {
  const testing::TempDir folder;
  const std::string graphs = (folder / "graphs").string();
  std::filesystem::create_directories(graphs);
  std::ofstream(graphs + "/99-from_before.txt") << "old";
  std::ofstream(graphs + "/notes.txt") << "a user's";
  ASSERT_TRUE(compile_file(digits(), {.options = {"--graphs", graphs}}));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(graphs)) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, Contains("00-import.txt"));
  EXPECT_THAT(names, Contains(::testing::EndsWith("-elementwise.txt")));
  EXPECT_THAT(names, Contains(::testing::EndsWith("-compiled.txt")));
  EXPECT_THAT(names, Contains("notes.txt"));
  EXPECT_THAT(names, ::testing::Not(Contains("99-from_before.txt")));
  const auto refused = compile_file(digits(), {.options = {"--graphs", graphs + "/notes.txt"}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("--graphs"));
}

TEST(SluiceCompile, BadRequestsAreRefused) {
  EXPECT_EQ(compile_file("/no/such/model.onnx").error().code, kNotFound);
  EXPECT_EQ(compile_file("").error().code, kInvalidArgument);
  const std::vector<std::byte> noise(100, std::byte{0x5a});
  EXPECT_EQ(compile_bytes(noise).error().code, kInvalidArgument);
  EXPECT_EQ(compile({}, {}).error().code, kInvalidArgument);
  sluice_compile_request request = {};
  request.fd = 1 << 20;
  request.has_fd = 1;
  EXPECT_THAT(compile(request, {}).error().message, HasSubstr("file descriptor 1048576"));
  request.path = "x";
  EXPECT_THAT(compile(request, {}).error().message,
              HasSubstr("one of path, data, fd and trace, not 2"));
  EXPECT_EQ(compile_file(digits(), {.options = {"--backend", "quantum"}}).error().code, kNotFound);
}

TEST(SluiceCompile, NullArgumentsAreRefused) {
  sluice_package* package = nullptr;
  const void* data = nullptr;
  std::size_t size_bytes = 0;
  EXPECT_EQ(sluice_compile(nullptr, &package), SLUICE_INVALID_ARGUMENT);
  const sluice_compile_request request = {};
  EXPECT_EQ(sluice_compile(&request, nullptr), SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(sluice_package_save(nullptr, "x"), SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(sluice_package_bytes(nullptr, &data, &size_bytes), SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(sluice_package_num_operations(nullptr), 0U);
  sluice_package_free(nullptr);
}

}  // namespace
}  // namespace sluice
