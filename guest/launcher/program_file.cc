#include "guest/launcher/program_file.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/utf8.h"

namespace sluice::guest {
namespace {

using File = std::span<const std::byte>;

constexpr std::string_view kRuntime = "libcudart.so.13";
constexpr std::string_view kConvolutions = "libcudnn.so.9";
/// Libraries whose calls the guest library does not see, by the start of their names. Over streams
/// and addresses of a proxy they would fault.
constexpr std::array<std::string_view, 7> kDriverUsers = {
    "libcuda.so",  "libcudnn",       "libcufft",  "libcurand.so",
    "libcusolver", "libcusparse.so", "libnccl.so"};

/// The bytes [offset, offset + size) of the file.
Result<File> part(File file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) {
    return invalid_argument("the program's file is damaged: a table lies behind its end");
  }
  return file.subspan(offset, size);
}

template <typename T>
T read_at(File table, std::size_t index) {
  T value;
  std::memcpy(&value, table.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// The text at `offset` of a table of strings; empty behind the end.
std::string_view text_at(File strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const auto* const start = reinterpret_cast<const char*>(strings.data()) + offset;
  return {start, strnlen(start, strings.size() - offset)};
}

struct Sections {
  File headers;
  std::size_t count = 0;

  Elf64_Shdr header(std::size_t index) const { return read_at<Elf64_Shdr>(headers, index); }
};

Result<File> strings_of(File file, const Sections& sections, std::size_t index) {
  if (index >= sections.count) return File();
  const Elf64_Shdr header = sections.header(index);
  return part(file, header.sh_offset, header.sh_size);
}

/// Whether the CUDA runtime is among the needed libraries. Fails: as check_program.
Result<bool> needs_runtime(File file, const Sections& sections, const Elf64_Shdr& dynamic) {
  const File entries = SLUICE_TRY(part(file, dynamic.sh_offset, dynamic.sh_size));
  const File names = SLUICE_TRY(strings_of(file, sections, dynamic.sh_link));
  bool has_runtime = false;
  for (std::size_t i = 0; i < entries.size() / sizeof(Elf64_Dyn); ++i) {
    const auto entry = read_at<Elf64_Dyn>(entries, i);
    if (entry.d_tag != DT_NEEDED) continue;
    const std::string_view name = text_at(names, entry.d_un.d_val);
    has_runtime = has_runtime || name == kRuntime;
    if (name == kConvolutions) continue;
    if (std::ranges::any_of(kDriverUsers, [&](auto start) { return name.starts_with(start); })) {
      return make_error(Code::kFailedPrecondition,
                        "the program needs {}, which calls the driver itself, so its calls cannot "
                        "be forwarded: a guest has the CUDA runtime, products of cuBLAS and "
                        "cuBLASLt, and convolutions of cuDNN 9",
                        shown(name));
    }
  }
  return has_runtime;
}

}  // namespace

Status check_program(File file) {
  Elf64_Ehdr elf;
  if (file.size() < sizeof(elf)) return ok_status();
  std::memcpy(&elf, file.data(), sizeof(elf));
  const bool is_elf64 = std::memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 &&
                        elf.e_ident[EI_CLASS] == ELFCLASS64 && elf.e_ident[EI_DATA] == ELFDATA2LSB;
  if (!is_elf64 || elf.e_shentsize != sizeof(Elf64_Shdr)) return ok_status();
  Sections sections;
  sections.count = elf.e_shnum;
  sections.headers = SLUICE_TRY(part(file, elf.e_shoff, sections.count * sizeof(Elf64_Shdr)));
  const File names = SLUICE_TRY(strings_of(file, sections, elf.e_shstrndx));
  bool has_device_code = false;
  for (std::size_t i = 0; i < sections.count; ++i) {
    const Elf64_Shdr header = sections.header(i);
    has_device_code = has_device_code || text_at(names, header.sh_name) == ".nv_fatbin";
    if (header.sh_type == SHT_DYNAMIC && SLUICE_TRY(needs_runtime(file, sections, header))) {
      return ok_status();
    }
  }
  if (!has_device_code) return ok_status();
  return make_error(
      Code::kFailedPrecondition,
      "the program does not load {}, so its calls cannot be forwarded: relink it with "
      "nvcc -cudart shared, of CUDA 13",
      kRuntime);
}

}  // namespace sluice::guest
