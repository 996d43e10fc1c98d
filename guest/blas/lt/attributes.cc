// Descriptions of cuBLASLt, and their attributes.
#include <cstddef>
#include <cstring>
#include <new>
#include <span>

#include "guest/blas/lt/lt.h"

namespace sluice::guest::blas {
namespace {

/// The number and the name are the vendor's. `bytes` is 0 if the library lacks the attribute.
struct Attribute {
  int number;
  const char* name;
  std::size_t offset;
  std::size_t bytes;
};

#define SLUICE_GUEST_LACKS(name, number) Attribute{number, #name, 0, 0},
#define SLUICE_GUEST_HAS(name, number, member) \
  Attribute{number, #name, offsetof(Operation, member), sizeof(Operation::member)},
constexpr Attribute kOperation[] = {
    SLUICE_GUEST_OPERATION_ATTRIBUTES(SLUICE_GUEST_HAS, SLUICE_GUEST_LACKS)};
#undef SLUICE_GUEST_HAS
#define SLUICE_GUEST_HAS(name, number, member) \
  Attribute{number, #name, offsetof(Layout, member), sizeof(Layout::member)},
constexpr Attribute kLayout[] = {
    SLUICE_GUEST_LAYOUT_ATTRIBUTES(SLUICE_GUEST_HAS, SLUICE_GUEST_LACKS)};
#undef SLUICE_GUEST_HAS
#define SLUICE_GUEST_HAS(name, number, member) \
  Attribute{number, #name, offsetof(Preference, member), sizeof(Preference::member)},
constexpr Attribute kPreference[] = {
    SLUICE_GUEST_PREFERENCE_ATTRIBUTES(SLUICE_GUEST_HAS, SLUICE_GUEST_LACKS)};
#undef SLUICE_GUEST_HAS
#undef SLUICE_GUEST_LACKS

/// Finds an attribute that the library has. Fails: kInvalidValue for null or a number that cuBLASLt
/// does not have, kNotSupported.
Result find(std::span<const Attribute> attributes, const void* object, int number,
            const Attribute** found) {
  if (object == nullptr) return Result::kInvalidValue;
  for (const Attribute& each : attributes) {
    if (each.number != number) continue;
    *found = &each;
    return each.bytes > 0 ? Result::kSuccess : refuse(each.name);
  }
  return Result::kInvalidValue;
}

Result set(std::span<const Attribute> attributes, void* object, int number, const void* value,
           std::size_t bytes) {
  const Attribute* found = nullptr;
  const Result result = find(attributes, object, number, &found);
  if (result != Result::kSuccess) return result;
  if (value == nullptr || bytes != found->bytes) return Result::kInvalidValue;
  std::memcpy(static_cast<std::byte*>(object) + found->offset, value, bytes);
  return Result::kSuccess;
}

/// Gives the size alone for a room of no bytes.
Result get(std::span<const Attribute> attributes, const void* object, int number, void* value,
           std::size_t bytes, std::size_t* size) {
  const Attribute* found = nullptr;
  const Result result = find(attributes, object, number, &found);
  if (result != Result::kSuccess) return result;
  if (bytes == 0 && size == nullptr) return Result::kInvalidValue;
  if (size != nullptr) *size = found->bytes;
  if (bytes == 0) return Result::kSuccess;
  if (value == nullptr || bytes < found->bytes) return Result::kInvalidValue;
  std::memcpy(value, static_cast<const std::byte*>(object) + found->offset, found->bytes);
  return Result::kSuccess;
}

template <typename T>
int create(void** to, const T& value) {
  if (to == nullptr) return static_cast<int>(Result::kInvalidValue);
  *to = new (std::nothrow) T(value);
  return static_cast<int>(*to != nullptr ? Result::kSuccess : Result::kAllocationFailed);
}

template <typename T>
int destroy(void* object) {
  delete static_cast<T*>(object);
  return static_cast<int>(Result::kSuccess);
}

}  // namespace

}  // namespace sluice::guest::blas

namespace blas = sluice::guest::blas;

SLUICE_GUEST_BLAS_EXPORT int cublasLtMatmulDescCreate(void** operation, int compute, int scale) {
  blas::Operation made;
  made.compute = compute;
  made.scale = scale;
  return blas::create(operation, made);
}
SLUICE_GUEST_BLAS_EXPORT int cublasLtMatmulDescDestroy(void* operation) {
  return blas::destroy<blas::Operation>(operation);
}
SLUICE_GUEST_BLAS_EXPORT int cublasLtMatmulDescSetAttribute(void* operation, int attribute,
                                                            const void* value, std::size_t bytes) {
  return static_cast<int>(blas::set(blas::kOperation, operation, attribute, value, bytes));
}
SLUICE_GUEST_BLAS_EXPORT int cublasLtMatmulDescGetAttribute(const void* operation, int attribute,
                                                            void* value, std::size_t bytes,
                                                            std::size_t* size) {
  return static_cast<int>(blas::get(blas::kOperation, operation, attribute, value, bytes, size));
}

SLUICE_GUEST_BLAS_EXPORT int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows,
                                                        std::uint64_t columns,
                                                        std::int64_t leading) {
  blas::Layout made;
  made.type = static_cast<std::uint32_t>(type);
  made.rows = rows;
  made.columns = columns;
  made.leading = leading;
  return blas::create(layout, made);
}
SLUICE_GUEST_BLAS_EXPORT int cublasLtMatrixLayoutDestroy(void* layout) {
  return blas::destroy<blas::Layout>(layout);
}
SLUICE_GUEST_BLAS_EXPORT int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute,
                                                              const void* value,
                                                              std::size_t bytes) {
  return static_cast<int>(blas::set(blas::kLayout, layout, attribute, value, bytes));
}
SLUICE_GUEST_BLAS_EXPORT int cublasLtMatrixLayoutGetAttribute(const void* layout, int attribute,
                                                              void* value, std::size_t bytes,
                                                              std::size_t* size) {
  return static_cast<int>(blas::get(blas::kLayout, layout, attribute, value, bytes, size));
}

SLUICE_GUEST_BLAS_EXPORT int cublasLtMatmulPreferenceCreate(void** preference) {
  return blas::create(preference, blas::Preference());
}
SLUICE_GUEST_BLAS_EXPORT int cublasLtMatmulPreferenceDestroy(void* preference) {
  return blas::destroy<blas::Preference>(preference);
}
SLUICE_GUEST_BLAS_EXPORT int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute,
                                                                  const void* value,
                                                                  std::size_t bytes) {
  return static_cast<int>(blas::set(blas::kPreference, preference, attribute, value, bytes));
}
SLUICE_GUEST_BLAS_EXPORT int cublasLtMatmulPreferenceGetAttribute(const void* preference,
                                                                  int attribute, void* value,
                                                                  std::size_t bytes,
                                                                  std::size_t* size) {
  return static_cast<int>(blas::get(blas::kPreference, preference, attribute, value, bytes, size));
}
