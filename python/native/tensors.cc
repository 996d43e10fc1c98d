#include "tensors.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "calls/errors.h"

namespace sluice::python {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr std::size_t kHeaderBytes = 64;  // of a block: its size

/// Memory that arrays have left, for outputs to come: pages fresh from the system cost more than
/// what a small model computes. The oldest blocks go beyond a limit. Thread-safe.
class FreeBlocks {
 public:
  FreeBlocks() { blocks_.reserve(kMaxBlocks + 1); }

  /// A block with room for a header and `size` bytes.
  std::byte* take(std::size_t size) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::ranges::find(blocks_, size, size_of);
      if (found != blocks_.end()) {
        std::byte* block = *found;
        blocks_.erase(found);
        bytes_ -= size;
        return block;
      }
    }
    auto* block = static_cast<std::byte*>(::operator new(kHeaderBytes + size, kAlignment));
    std::memcpy(block, &size, sizeof(size));
    return block;
  }

  void give(std::byte* block) {
    const std::lock_guard lock(mutex_);
    blocks_.push_back(block);
    bytes_ += size_of(block);
    while (bytes_ > kMaxBytes || blocks_.size() > kMaxBlocks) {
      bytes_ -= size_of(blocks_.front());
      ::operator delete(blocks_.front(), kAlignment);
      blocks_.erase(blocks_.begin());
    }
  }

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  static std::size_t size_of(const std::byte* block) {
    std::size_t size = 0;
    std::memcpy(&size, block, sizeof(size));
    return size;
  }

  static constexpr std::size_t kMaxBytes = std::size_t{32} << 20U;
  static constexpr std::size_t kMaxBlocks = 128;

  std::mutex mutex_;
  std::vector<std::byte*> blocks_;  // the oldest first
  std::size_t bytes_ = 0;           // without headers
};

/// Never destroyed: arrays may outlive the interpreter's modules.
FreeBlocks& free_blocks() {
  static auto& blocks = *new FreeBlocks;
  // Runs take blocks without the interpreter's lock: a fork in that moment would leave the mutex
  // locked in the child for ever.
  [[maybe_unused]] static const int kForks = ::pthread_atfork(
      [] { free_blocks().lock(); }, [] { free_blocks().unlock(); }, [] { free_blocks().unlock(); });
  return blocks;
}

/// Element types that numpy has, with DLPack's name for them.
struct NumpyType {
  std::int32_t element_type;
  nb::dlpack::dtype_code code;
  std::uint8_t bits;
};
constexpr NumpyType kNumpyTypes[] = {
    {1, nb::dlpack::dtype_code::Float, 32},    {2, nb::dlpack::dtype_code::UInt, 8},
    {3, nb::dlpack::dtype_code::Int, 8},       {4, nb::dlpack::dtype_code::UInt, 16},
    {5, nb::dlpack::dtype_code::Int, 16},      {6, nb::dlpack::dtype_code::Int, 32},
    {7, nb::dlpack::dtype_code::Int, 64},      {9, nb::dlpack::dtype_code::Bool, 8},
    {10, nb::dlpack::dtype_code::Float, 16},   {11, nb::dlpack::dtype_code::Float, 64},
    {12, nb::dlpack::dtype_code::UInt, 32},    {13, nb::dlpack::dtype_code::UInt, 64},
    {14, nb::dlpack::dtype_code::Complex, 64}, {15, nb::dlpack::dtype_code::Complex, 128},
};

const NumpyType* find_type(std::int32_t element_type) {
  for (const NumpyType& type : kNumpyTypes) {
    if (type.element_type == element_type) return &type;
  }
  return nullptr;
}

/// Takes the array as it lies in memory; false where that needs a copy.
bool import_array(nb::handle value, ReadArray& array) {
  nb::detail::make_caster<ReadArray> caster;
  if (!caster.from_python(value, 0, nullptr)) return false;
  array = std::move(caster.value);
  return true;
}

bool read_encoded(const nb::tuple& parts, InputTensor& input) {
  if (parts.size() != 3 || !import_array(parts[0], input.array)) return false;
  input.element_type = nb::cast<std::int32_t>(parts[1]);
  input.is_encoded = true;
  input.dims.clear();
  for (const nb::handle dim : nb::cast<nb::tuple>(parts[2])) {
    input.dims.push_back(nb::cast<std::int64_t>(dim));
  }
  return true;
}

}  // namespace

void AlignedDelete::operator()(std::byte* data) const { free_blocks().give(data - kHeaderBytes); }

AlignedMemory allocate(std::int64_t size_bytes) {
  // Few sizes, so that tensors that grow with each run find the blocks of those before.
  const auto wanted = static_cast<std::size_t>(size_bytes > 0 ? size_bytes : 1);
  const std::size_t step = std::max<std::size_t>(kHeaderBytes, std::bit_floor(wanted) / 8);
  return AlignedMemory(free_blocks().take((wanted + step - 1) / step * step) + kHeaderBytes);
}

sluice_array InputTensor::view() const {
  const std::int64_t* shape = is_encoded ? dims.data() : array.shape_ptr();
  const std::size_t rank = is_encoded ? dims.size() : array.ndim();
  return {const_cast<void*>(static_cast<const void*>(array.data())),
          static_cast<std::int64_t>(array.nbytes()), element_type, static_cast<std::int32_t>(rank),
          shape};
}

std::int32_t element_type_of(nb::dlpack::dtype type) {
  for (const NumpyType& known : kNumpyTypes) {
    if (type.code == static_cast<std::uint8_t>(known.code) && type.bits == known.bits &&
        type.lanes == 1) {
      return known.element_type;
    }
  }
  return 0;
}

int numpy_bits(std::int32_t element_type) {
  const NumpyType* type = find_type(element_type);
  return type == nullptr ? 0 : type->bits;
}

bool read_input(nb::handle value, InputTensor& input) {
  if (nb::isinstance<nb::list>(value)) {
    input.is_sequence = true;
    for (const nb::handle element : nb::borrow<nb::list>(value)) {
      InputTensor& read = input.elements.emplace_back();
      if (!read_input(element, read) || read.is_sequence) return false;
    }
    return true;
  }
  if (nb::isinstance<nb::tuple>(value)) return read_encoded(nb::borrow<nb::tuple>(value), input);
  if (!import_array(value, input.array)) return false;
  input.element_type = element_type_of(input.array.dtype());
  input.is_encoded = false;
  return input.element_type != 0;
}

nb::object result_of(const nb::list& outputs) {
  return outputs.size() == 1 ? nb::object(outputs[0]) : nb::object(nb::tuple(outputs));
}

std::vector<WriteArray> read_out(const nb::object& out, std::size_t num_outputs) {
  std::vector<WriteArray> memory(num_outputs);
  if (out.is_none()) return memory;
  const auto given = nb::cast<nb::list>(out);
  for (std::size_t i = 0; i < num_outputs && i < given.size(); ++i) {
    if (!given[i].is_none()) memory[i] = nb::cast<WriteArray>(given[i], /*convert=*/false);
  }
  return memory;
}

nb::object to_python(OutputTensor output) {
  if (output.is_sequence) {
    nb::list elements;
    for (OutputTensor& element : output.elements) elements.append(to_python(std::move(element)));
    return elements;
  }
  std::byte* data = output.memory.release();
  nb::capsule owner(
      data, [](void* memory) noexcept { AlignedDelete()(static_cast<std::byte*>(memory)); });
  return to_python({data, output.size_bytes, output.element_type,
                    static_cast<std::int32_t>(output.dims.size()), output.dims.data()},
                   std::move(owner));
}

nb::object to_python(const sluice_array& array, nb::object owner) {
  const std::span<const std::int64_t> dims(array.dims, static_cast<std::size_t>(array.rank));
  const int type = numpy_type(array.element_type);
  if (type >= 0) return make_numpy_array(array.data, type, dims, std::move(owner));
  nb::list shape;
  for (const std::int64_t dim : dims) shape.append(dim);
  const nb::object bytes = make_numpy_array(array.data, numpy_type(kByteElements),
                                            {&array.size_bytes, 1}, std::move(owner));
  return nb::make_tuple(bytes, array.element_type, nb::tuple(shape));
}

nb::tuple describe_spec(const std::string& name, const std::string& type, std::int32_t element_type,
                        std::int32_t rank, const std::vector<std::int64_t>& dims,
                        std::int32_t batch_axis, bool has_default) {
  nb::object shape = nb::none();
  if (rank >= 0) {
    nb::list sizes;
    for (const std::int64_t dim : dims) {
      sizes.append(dim < 0 ? nb::object(nb::none()) : nb::object(nb::int_(dim)));
    }
    shape = nb::tuple(sizes);
  }
  return nb::make_tuple(name.c_str(), type.c_str(), element_type, shape, batch_axis, has_default);
}

}  // namespace sluice::python
