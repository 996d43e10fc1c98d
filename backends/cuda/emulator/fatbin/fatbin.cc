#include "emulator/fatbin/fatbin.h"

#include <dlfcn.h>

#include <cstring>
#include <optional>

#include "emulator/ptx/module.h"

namespace sluice::cuda::emulator {
namespace {

constexpr std::uint16_t kPtxKind = 1;
constexpr std::uint64_t kZstdFlag = 0x8000;
constexpr std::uint64_t kOtherCompressionFlags = 0x3000;  // LZ4 and its predecessor

struct Entry {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t padded_bytes;
  std::uint32_t compressed_bytes;  // 0 where nothing is compressed
  std::uint32_t options_offset;
  std::uint16_t minor;
  std::uint16_t major;
  std::uint32_t architecture;
  std::uint32_t name_offset;
  std::uint32_t name_bytes;
  std::uint64_t flags;
  std::uint64_t zero;
  std::uint64_t bytes;  // after decompression
};
static_assert(sizeof(Entry) == 64);

/// What libzstd offers, declared here so that building needs no header of it.
struct Zstd {
  std::size_t (*decompress)(void* to, std::size_t capacity, const void* from, std::size_t bytes);
  unsigned (*is_error)(std::size_t code);
};

std::optional<Zstd> open_zstd() {
  static const std::optional<Zstd> kOpened = []() -> std::optional<Zstd> {
    void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::nullopt;
    Zstd zstd = {reinterpret_cast<decltype(Zstd::decompress)>(dlsym(library, "ZSTD_decompress")),
                 reinterpret_cast<decltype(Zstd::is_error)>(dlsym(library, "ZSTD_isError"))};
    if (zstd.decompress == nullptr || zstd.is_error == nullptr) return std::nullopt;
    return zstd;
  }();
  return kOpened;
}

Status damaged(const char* what) {
  return plugin::invalid_argument(std::string("the fat binary is damaged: ") + what);
}

struct Found {
  Entry entry = {};
  std::span<const std::byte> data;
};

/// Whether `a` serves a device of `capability` better than `b`.
bool is_better(std::uint32_t a, std::uint32_t b, std::uint32_t capability) {
  const bool fits_a = a <= capability;
  const bool fits_b = b <= capability;
  if (fits_a != fits_b) return fits_a;
  return fits_a ? a > b : a < b;
}

Status choose_text(std::span<const std::byte> entries, std::uint32_t capability,
                   std::optional<Found>* best) {
  while (!entries.empty()) {
    Entry entry;
    if (entries.size() < sizeof(entry)) return damaged("it ends within the header of an entry");
    std::memcpy(&entry, entries.data(), sizeof(entry));
    if (entry.header_bytes < sizeof(entry) || entry.header_bytes > entries.size()) {
      return damaged("the header of an entry has a wrong size");
    }
    entries = entries.subspan(entry.header_bytes);
    if (entry.padded_bytes > entries.size()) return damaged("an entry is longer than the rest");
    const auto data = entries.first(entry.padded_bytes);
    entries = entries.subspan(entry.padded_bytes);
    if (entry.kind != kPtxKind) continue;
    const bool is_first = !best->has_value();
    if (is_first || is_better(entry.architecture, (*best)->entry.architecture, capability)) {
      *best = Found{entry, data};
    }
  }
  return plugin::ok();
}

Status decompress(const Found& found, std::string* ptx) {
  const Entry& entry = found.entry;
  if (entry.compressed_bytes > found.data.size()) return damaged("a text is cut off");
  if (entry.bytes > ptx::kMaxTextBytes) return damaged("a text is too long");
  const auto zstd = open_zstd();
  if (!zstd) {
    return {SLUICE_UNAVAILABLE,
            "the PTX of the fat binary is compressed by zstd, and libzstd.so.1 is not installed; "
            "install it, or compile with nvcc -compress-mode=none"};
  }
  ptx->resize(entry.bytes);
  const std::size_t got =
      zstd->decompress(ptx->data(), ptx->size(), found.data.data(), entry.compressed_bytes);
  if (zstd->is_error(got) != 0 || got != entry.bytes) return damaged("zstd cannot read a text");
  return plugin::ok();
}

}  // namespace

Status find_ptx(std::span<const std::byte> fatbin, int capability, std::string* ptx) {
  if (fatbin.size() < kFatbinHeaderBytes) return damaged("it ends within its header");
  const std::size_t bytes = fatbin_bytes(fatbin.data());
  if (bytes == 0 || bytes > fatbin.size()) return damaged("its header has a wrong size");
  std::optional<Found> best;
  const auto entries = fatbin.subspan(kFatbinHeaderBytes, bytes - kFatbinHeaderBytes);
  if (Status status = choose_text(entries, static_cast<std::uint32_t>(capability), &best);
      !status.is_ok()) {
    return status;
  }
  if (!best) {
    return {SLUICE_NOT_FOUND,
            "the program holds machine code alone, and the emulator runs PTX; compile with nvcc "
            "-gencode arch=compute_75,code=compute_75"};
  }
  if ((best->entry.flags & kOtherCompressionFlags) != 0) {
    return {SLUICE_UNIMPLEMENTED,
            "the PTX of the fat binary is compressed by LZ4; compile with nvcc 13, or "
            "-no-compress"};
  }
  if ((best->entry.flags & kZstdFlag) != 0) {
    if (Status status = decompress(*best, ptx); !status.is_ok()) return status;
  } else {
    ptx->assign(reinterpret_cast<const char*>(best->data.data()), best->data.size());
  }
  ptx->resize(strnlen(ptx->c_str(), ptx->size()));  // padding
  return plugin::ok();
}

}  // namespace sluice::cuda::emulator
