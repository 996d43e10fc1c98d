#include "operators/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/digest/sha256.h"
#include "support/paths.h"

namespace sluice::operators {
namespace {

using ::testing::HasSubstr;

Bytes text_bytes(std::string_view text) {
  return MutableBytes::copy_of(std::as_bytes(std::span(text))).freeze();
}

/// A package that carries `data` and says that its digest is `sha256`.
package::Executable carrying(std::string_view data, const std::string& sha256) {
  package::Executable executable;
  executable.graph.metadata[kModuleFact] = "libscale.so";
  executable.graph.metadata[kModuleDigestFact] = sha256;
  executable.files.emplace(kModuleFile, text_bytes(data));
  return executable;
}

std::string digest_of(std::string_view data) { return sha256_of(text_bytes(data).view()); }

TEST(OperatorModule, PackageWithoutOneNeedsNothing) { EXPECT_TRUE(open_module_of({}).is_ok()); }

TEST(OperatorModule, ModuleThatIsNotAllowedIsNotOpened) {
  const std::string sha256 = digest_of("not allowed");
  const Status status = open_module_of(carrying("not allowed", sha256));
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr("module of operators \"libscale.so\""));
  EXPECT_THAT(status.message(), HasSubstr(sha256));
}

TEST(OperatorModule, BytesOfAnotherDigestAreNotOpened) {
  const std::string sha256 = digest_of("what was signed");
  ASSERT_TRUE(allow_module(sha256).is_ok());
  const Status status = open_module_of(carrying("what came instead", sha256));
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("its SHA-256 is " + digest_of("what came instead")));
}

TEST(OperatorModule, ModuleWithoutBytesOrDigestIsDamage) {
  package::Executable executable = carrying("x", digest_of("x"));
  executable.files.clear();
  EXPECT_EQ(open_module_of(executable).code(), Code::kDataLoss);
  executable = carrying("x", "");
  executable.graph.metadata.erase(kModuleDigestFact);
  EXPECT_EQ(open_module_of(executable).code(), Code::kDataLoss);
  EXPECT_EQ(open_module_of(carrying("x", "abc")).code(), Code::kDataLoss);
}

TEST(OperatorModule, AllowedBytesThatAreNoLibraryAreRefusedEachTime) {
  const std::string sha256 = digest_of("no library");
  ASSERT_TRUE(allow_module(sha256).is_ok());
  ASSERT_TRUE(allow_module(sha256).is_ok()) << "it may be allowed again";
  for (int i = 0; i < 2; ++i) {
    const Status status = open_module_of(carrying("no library", sha256));
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("cannot open library"));
  }
}

TEST(OperatorModule, NameOfAStrangerIsNotPrinted) {
  package::Executable executable = carrying("escape", digest_of("escape"));
  executable.graph.metadata[kModuleFact] = "\033[2Jgone";
  EXPECT_THAT(open_module_of(executable).message(), HasSubstr("\"operators.so\""));
}

TEST(OperatorModule, OnlyADigestCanBeAllowed) {
  for (const char* text : {"", "any", "sha256:00", "libscale.so"}) {
    const Status status = allow_module(text);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr("sha256sum")) << text;
  }
}

TEST(OperatorModule, FileThatIsMissingOrNoLibraryIsRefused) {
  const testing::TempDir folder;
  EXPECT_EQ(open_module(folder / "missing.so").status().code(), Code::kNotFound);
  std::ofstream(folder / "text.so") << "no shared library";
  const Status status = open_module(folder / "text.so").status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("text.so: cannot open library"));
}

}  // namespace
}  // namespace sluice::operators
