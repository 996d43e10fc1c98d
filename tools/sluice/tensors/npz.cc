#include "sluice/tensors/npz.h"

#include <minizip/unzip.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "package/npy.h"

namespace sluice::tool {
namespace {

constexpr std::uint64_t kMaxTensorBytes = std::uint64_t{8} << 30;
/// Deflate packs at most 1,032 bytes into one. A member that claims more is damaged.
constexpr std::uint64_t kMaxRatio = 1032;
constexpr std::size_t kMaxNamesInMessage = 16;

/// A file in memory, as minizip reads one.
struct MemoryFile {
  const Bytes& bytes;
  std::uint64_t at = 0;
};

MemoryFile& file_of(voidpf stream) { return *static_cast<MemoryFile*>(stream); }

uLong read_some(voidpf /*opaque*/, voidpf stream, void* to, uLong size) {
  MemoryFile& file = file_of(stream);
  const std::uint64_t count = std::min<std::uint64_t>(size, file.bytes.size() - file.at);
  std::memcpy(to, file.bytes.data() + file.at, count);
  file.at += count;
  return static_cast<uLong>(count);
}

long seek_to(voidpf /*opaque*/, voidpf stream, ZPOS64_T offset, int origin) {
  MemoryFile& file = file_of(stream);
  const std::uint64_t from = origin == ZLIB_FILEFUNC_SEEK_END   ? file.bytes.size()
                             : origin == ZLIB_FILEFUNC_SEEK_CUR ? file.at
                                                                : 0;
  if (offset > file.bytes.size() - from) return -1;
  file.at = from + offset;
  return 0;
}

struct CloseZip {
  void operator()(void* zip) const { unzClose(zip); }
};
using Zip = std::unique_ptr<void, CloseZip>;

Zip open_zip(MemoryFile& file) {
  zlib_filefunc64_def functions = {};
  functions.opaque = &file;
  functions.zopen64_file = [](voidpf opaque, const void*, int) { return opaque; };
  functions.zread_file = read_some;
  functions.ztell64_file = [](voidpf, voidpf stream) -> ZPOS64_T { return file_of(stream).at; };
  functions.zseek64_file = seek_to;
  functions.zclose_file = [](voidpf, voidpf) { return 0; };
  functions.zerror_file = [](voidpf, voidpf) { return 0; };
  return Zip(unzOpen2_64("", &functions));
}

Status damaged() { return make_error(Code::kDataLoss, "the .npz file is damaged"); }

/// The member that the archive stands at; its name without ".npy".
struct Member {
  std::string name;
  std::uint64_t size_bytes = 0;
  std::uint64_t packed_bytes = 0;
};

Result<Member> current_member(const Zip& zip, std::uint64_t file_bytes) {
  unz_file_info64 info = {};
  std::array<char, 512> name = {};
  if (unzGetCurrentFileInfo64(zip.get(), &info, name.data(), name.size() - 1, nullptr, 0, nullptr,
                              0) != UNZ_OK) {
    return damaged();
  }
  // Sizes come from the archive's directory. A member takes at most the whole file, so with
  // kMaxRatio no claim makes unpack() allocate more than the file can hold.
  if (info.compressed_size > file_bytes) return damaged();
  Member member{name.data(), info.uncompressed_size, info.compressed_size};
  if (member.name.ends_with(".npy")) member.name.resize(member.name.size() - 4);
  return member;
}

Result<Bytes> unpack(const Zip& zip, const Member& member) {
  if (member.size_bytes > kMaxTensorBytes) {
    return invalid_argument("\"{}\" has {} bytes, at most 8 GiB are read", member.name,
                            member.size_bytes);
  }
  if (member.size_bytes / kMaxRatio > member.packed_bytes) return damaged();
  if (unzOpenCurrentFile(zip.get()) != UNZ_OK) return damaged();
  std::vector<std::byte> bytes(member.size_bytes);
  std::size_t done = 0;
  while (done < bytes.size()) {
    constexpr std::size_t kPiece = std::size_t{1} << 30;
    const auto piece = static_cast<unsigned>(std::min(bytes.size() - done, kPiece));
    const int count = unzReadCurrentFile(zip.get(), bytes.data() + done, piece);
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  // Closing a member compares its checksum.
  const bool is_intact = unzCloseCurrentFile(zip.get()) == UNZ_OK;
  if (done < bytes.size() || !is_intact) return damaged();
  return Bytes::own(std::move(bytes));
}

}  // namespace

Result<ir::Constant> parse_npz(const Bytes& file, std::string_view name) {
  MemoryFile memory{file};
  const Zip zip = open_zip(memory);
  if (zip == nullptr) return invalid_argument("this is not an .npz file");
  std::string names;
  std::size_t num_names = 0;
  for (int state = unzGoToFirstFile(zip.get()); state == UNZ_OK;
       state = unzGoToNextFile(zip.get())) {
    const Member member = SLUICE_TRY(current_member(zip, file.size()));
    if (member.name == name) {
      return package::parse_npy(SLUICE_TRY(unpack(zip, member))).with_context(member.name);
    }
    if (++num_names > kMaxNamesInMessage) continue;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", member.name);
  }
  return make_error(Code::kNotFound, "the .npz file has no \"{}\"; it has {}{}", name,
                    names.empty() ? "no tensors" : names,
                    num_names > kMaxNamesInMessage ? ", ..." : "");
}

Result<ir::Constant> read_npz(const std::filesystem::path& path, std::string_view name) {
  const Bytes file = SLUICE_TRY(map_file(path));
  return parse_npz(file, name);
}

}  // namespace sluice::tool
