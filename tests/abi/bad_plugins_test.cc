// Whatever a plug-in does wrong, it is listed with the reason and the process lives.
#include <gtest/gtest.h>

#include "backend/command_list.h"
#include "backend/extensions/input_alignment.h"
#include "backend/extensions/variants.h"
#include "backend/extensions/virtual_time.h"
#include "backend/memory.h"
#include "backend/registry.h"
#include "conformance/op_maker.h"
#include "support/paths.h"

namespace sluice::backend {
namespace {

/// A copy of bad_plugin.cc's library under a name that says what it does wrong.
std::filesystem::path path_of(const std::string& name) {
  static const testing::TempDir kFolder;
  const auto copy = kFolder / ("libsluice_backend_" + name + ".so");
  const char* library = name == "no_entry" ? "libsluice_no_entry.so" : "libsluice_bad_plugin.so";
  const auto built = testing::build_path("test_plugins") / library;
  std::filesystem::copy(built, copy, std::filesystem::copy_options::skip_existing);
  return copy;
}

/// Why discovery did not load the plug-in; "" if it did.
std::string reason_of(const std::string& name) {
  const auto registry = BackendRegistry::discover({.paths = {path_of(name)}, .options = {}});
  for (const Plugin& plugin : registry.all()) {
    if (plugin.name == name) return plugin.reason.message();
  }
  return "not listed";
}

struct Refused {
  const char* name;
  const char* reason;  ///< part of it
};

class BadPlugins : public ::testing::TestWithParam<Refused> {};

TEST_P(BadPlugins, AreListedWithTheReason) {
  const std::string reason = reason_of(GetParam().name);
  EXPECT_NE(reason.find(GetParam().reason), std::string::npos) << reason;
  EXPECT_NE(reason.find(path_of(GetParam().name).string()), std::string::npos) << reason;
}

constexpr Refused kRefused[] = {
    {"no_entry", "not a plug-in: it does not export sluice_backend_entry"},
    {"wrong_major", "made for version 2.3 of the plug-in table; this host has 1.3: rebuild it"},
    {"wrong_name", "its name \"another\" does not match its file name, \"wrong_name\""},
    {"null_name", "its name \"?\" does not match"},
    {"null_function", "its table lacks the function list_submit"},
    {"small_table", "its table says it has 16 bytes"},
    {"huge_table", "its table says it has 4294967295 bytes"},
    {"unaligned_table", "its entry returned no table"},
    {"throws_in_entry", "threw: thrown by the entry"},
    {"refuses", "not today"},
    {"throws_in_create", "threw: thrown by create"},
    {"creates_nothing", "create returned no backend"},
    {"unknown_code", "backend \"unknown_code\": xxxx"},
    {"no_device", "finds no device"},
    {"billion_devices", "reports 1000000000 devices"},
    {"no_cores", "has 0 cores"},
};

INSTANTIATE_TEST_SUITE_P(All, BadPlugins, ::testing::ValuesIn(kRefused),
                         [](const auto& bad) { return std::string(bad.param.name); });

/// Plug-ins that load, and go wrong later.
class MisbehavingPlugin : public ::testing::Test {
 protected:
  void load(const std::string& name) {
    auto loaded = Backend::load(path_of(name));
    ASSERT_TRUE(loaded.is_ok()) << loaded.status().to_string();
    plugin = *loaded;
  }

  static Op relu() {
    const auto type = conformance::tensor_type(ir::ElementType::kF32, {16});
    return conformance::OpMaker("Relu", 14).input(type).output(type).make().value();
  }

  Status run() {
    const auto kernel = SLUICE_TRY(Kernel::create(plugin, 0, relu()));
    const auto group = SLUICE_TRY(Group::create(plugin, 0, {}));
    CommandList list = SLUICE_TRY(CommandList::create(group));
    Stream stream = SLUICE_TRY(Stream::create(group));
    std::vector<float> x(16);
    const sluice_argument argument = fixed_argument(x.data());
    SLUICE_TRY(list.add_kernel(kernel, {&argument, 1}, {&argument, 1}));
    SLUICE_TRY(list.finish());
    SLUICE_TRY(stream.submit(list, {}));
    return stream.wait();
  }

  std::shared_ptr<const Backend> plugin;
};

TEST_F(MisbehavingPlugin, ExceptionInQueryIsAnError) {
  load("throws_in_query");
  const auto support = plugin->query(relu());
  EXPECT_EQ(support.status().code(), Code::kInternal);
  EXPECT_EQ(support.status().message(),
            "node \"node\" (Relu): backend \"throws_in_query\" threw: thrown by query");
}

TEST_F(MisbehavingPlugin, ExceptionInAKernelIsAnError) {
  load("throws_in_run");
  const Status status = run();
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(status.message(), "backend \"throws_in_run\": thrown by a kernel");
}

TEST_F(MisbehavingPlugin, ThrownNonExceptionIsAnError) {
  load("throws_no_exception_in_run");
  EXPECT_EQ(run().message(), "backend \"throws_no_exception_in_run\": unknown exception");
}

TEST_F(MisbehavingPlugin, ExceptionInDestroyIsContained) {
  load("throws_in_destroy");
  plugin.reset();
}

TEST_F(MisbehavingPlugin, UnknownPreferredLayoutIsAnError) {
  load("unknown_layout");
  EXPECT_EQ(plugin->query(relu()).status().code(), Code::kInternal);
}

TEST_F(MisbehavingPlugin, NegativePackedSizeIsAnError) {
  load("negative_packing");
  EXPECT_EQ(plugin->query_packing(relu(), 0).status().code(), Code::kInternal);
}

TEST_F(MisbehavingPlugin, MissingKernelIsAnError) {
  load("null_kernel");
  EXPECT_EQ(Kernel::create(plugin, 0, relu()).status().message(),
            "backend \"null_kernel\" returned no kernel for node \"node\" (Relu)");
}

TEST_F(MisbehavingPlugin, MisalignedMemoryIsAnError) {
  load("misaligned_memory");
  const auto memory = DeviceMemory::allocate(plugin, 0, 64);
  EXPECT_EQ(memory.status().code(), Code::kInternal);
  EXPECT_NE(memory.status().message().find("not aligned"), std::string::npos);
}

TEST_F(MisbehavingPlugin, ExceptionInFindExtensionRefusesThePlugin) {
  EXPECT_NE(reason_of("throws_in_find_extension").find("threw: thrown by find_extension"),
            std::string::npos);
}

TEST_F(MisbehavingPlugin, BrokenTopologyRefusesThePlugin) {
  EXPECT_NE(reason_of("small_topology").find("its sluice.topology/1 has 4 bytes, not 24"),
            std::string::npos);
  EXPECT_NE(reason_of("link_to_nowhere").find("a link joins devices 0 and 7 of 1"),
            std::string::npos);
  EXPECT_NE(reason_of("billion_links").find("reports 1000000000 links"), std::string::npos);
}

TEST_F(MisbehavingPlugin, MissingVirtualTimeIsReported) {
  load("has_nothing_wrong");
  EXPECT_EQ(VirtualTime::of(plugin).status().code(), Code::kUnimplemented);
}

TEST_F(MisbehavingPlugin, Version1_0TableIsReadToItsEndOnly) {
  load("abi_1_0");
  EXPECT_EQ(plugin->find_extension("sluice.topology/1").value(), nullptr);
  EXPECT_TRUE(list_variants(*plugin, relu(), 2).value().empty());
  const SteadyRuns steady(*plugin);
  EXPECT_TRUE(run().is_ok());
}

TEST_F(MisbehavingPlugin, UnnamedAndEndlessTacticListsAreErrors) {
  for (const char* name : {"null_variant", "nameless_variant", "endless_variants"}) {
    load(name);
    const auto variants = list_variants(*plugin, relu(), 2);
    EXPECT_EQ(variants.status().code(), Code::kInternal) << name;
    EXPECT_NE(variants.status().message().find("without a name or an end"), std::string::npos);
  }
  load("throws_in_variants");
  EXPECT_NE(list_variants(*plugin, relu(), 2).status().message().find("thrown by variants"),
            std::string::npos);
}

TEST_F(MisbehavingPlugin, IncompleteTacticTableOffersNone) {
  for (const char* name : {"small_variants", "null_in_variants"}) {
    load(name);
    EXPECT_TRUE(list_variants(*plugin, relu(), 2).value().empty()) << name;
    const SteadyRuns steady(*plugin);
  }
}

TEST_F(MisbehavingPlugin, AlignmentsOfInputsThatAreNoneAreErrors) {
  for (const char* name : {"no_input_alignment", "odd_input_alignment", "wide_input_alignment"}) {
    load(name);
    EXPECT_EQ(input_alignment(*plugin).status().code(), Code::kInternal) << name;
  }
  load("small_input_alignment");
  EXPECT_EQ(input_alignment(*plugin).value(), kAlignment);
}

TEST_F(MisbehavingPlugin, UnterminatedNamesAreCutAtTheirField) {
  load("unterminated_device_name");
  EXPECT_EQ(plugin->devices()[0].kind, std::string(32, 'k'));
  EXPECT_EQ(plugin->devices()[0].name, std::string(96, 'n'));
}

TEST(BackendRegistry, FirstLoadablePluginOfANameWins) {
  const testing::TempDir folder;
  const auto copy = folder / "libsluice_backend_throws_in_run.so";
  std::filesystem::copy(path_of("throws_in_run"), copy);
  const auto registry = BackendRegistry::discover(
      {.paths = {folder.path(), path_of("throws_in_run")}, .options = {}});
  ASSERT_GE(registry.all().size(), 2U);
  EXPECT_NE(registry.all()[0].backend, nullptr);
  EXPECT_EQ(registry.all()[1].backend, nullptr);
  EXPECT_EQ(registry.all()[1].reason.code(), Code::kAlreadyExists);
  EXPECT_EQ((*registry.find("throws_in_run"))->path(), copy);
}

}  // namespace
}  // namespace sluice::backend
