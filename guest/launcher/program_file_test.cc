#include "guest/launcher/program_file.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/file.h"

namespace sluice::guest {
namespace {

using ::testing::HasSubstr;

/// An ELF file with a section .nv_fatbin and one needed library.
class ElfFile {
 public:
  explicit ElfFile(const std::string& needed) {
    const std::string names = std::string("\0.nv_fatbin\0.strings\0", 21) + needed + '\0';
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 4;
    header.e_shstrndx = 1;
    const Elf64_Dyn dynamic = {.d_tag = DT_NEEDED, .d_un = {.d_val = 21}};
    std::vector<Elf64_Shdr> sections(4);
    sections[1].sh_offset = sizeof(header);
    sections[1].sh_size = names.size();
    sections[2].sh_name = 1;
    sections[3].sh_type = SHT_DYNAMIC;
    sections[3].sh_link = 1;
    sections[3].sh_offset = sizeof(header) + names.size();
    sections[3].sh_size = sizeof(dynamic);
    header.e_shoff = sections[3].sh_offset + sizeof(dynamic);
    append(&header, sizeof(header));
    append(names.data(), names.size());
    append(&dynamic, sizeof(dynamic));
    append(sections.data(), sections.size() * sizeof(Elf64_Shdr));
  }
  std::vector<std::byte> bytes;

 private:
  void append(const void* from, std::size_t size) {
    const auto* const start = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), start, start + size);
  }
};

TEST(ProgramFile, PassesAProgramThatLoadsTheRuntime) {
  EXPECT_TRUE(check_program(ElfFile("libcudart.so.13").bytes).is_ok());
}

TEST(ProgramFile, RefusesDeviceCodeWithoutTheSharedRuntime) {
  for (const char* needed : {"libc.so.6", "libcudart.so.12", ""}) {
    const Status status = check_program(ElfFile(needed).bytes);
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << needed;
    EXPECT_THAT(status.message(), HasSubstr("-cudart shared"));
  }
}

TEST(ProgramFile, RefusesLibrariesThatCallTheDriverThemselves) {
  for (const char* needed :
       {"libcudnn.so.8", "libcudnn_graph.so.9", "libcusolver.so.12", "libcuda.so.1"}) {
    const Status status = check_program(ElfFile(needed).bytes);
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << needed;
    EXPECT_THAT(status.message(), HasSubstr(needed));
  }
}

TEST(ProgramFile, PassesLibrariesThatGuestsHave) {
  const Status status = check_program(ElfFile("libcudnn.so.9").bytes);
  EXPECT_THAT(status.message(), HasSubstr("-cudart shared"));  // the runtime alone is missing
}

TEST(ProgramFile, PassesProgramsWithoutDeviceCodeAndScripts) {
  const auto self = map_file("/proc/self/exe");
  ASSERT_TRUE(self.is_ok());
  EXPECT_TRUE(check_program(self->view()).is_ok());
  const std::string script =
      "#!/bin/sh\nexec ./program \"$@\" and more, so that it is as long as a header\n";
  EXPECT_TRUE(check_program(std::as_bytes(std::span(script))).is_ok());
  EXPECT_TRUE(check_program({}).is_ok());
}

TEST(ProgramFile, SurvivesEveryCutAndEveryWrongByte) {
  const std::vector<std::byte> good = ElfFile("libcudart.so.13").bytes;
  for (std::size_t size = 0; size < good.size(); ++size) {
    const std::vector<std::byte> cut(good.begin(),
                                     good.begin() + static_cast<std::ptrdiff_t>(size));
    if (size >= sizeof(Elf64_Ehdr)) {
      EXPECT_EQ(check_program(cut).code(), Code::kInvalidArgument) << size;
    }
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto wrong = good;
    wrong[i] = std::byte{0xff};
    (void)check_program(wrong);  // reads nothing outside; sanitizers tell
  }
}

}  // namespace
}  // namespace sluice::guest
