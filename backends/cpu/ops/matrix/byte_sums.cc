#include "ops/matrix/byte_sums.h"

#include "ops/operands/checks.h"

namespace sluice::cpu {

Status check_byte_zeros(const sluice_op& op, int factor, int zeros, std::int64_t count) {
  if (!has_input(op, zeros)) return plugin::ok();
  const sluice_tensor& tensor = op.inputs[zeros].tensor;
  if (tensor.element_type != op.inputs[factor].tensor.element_type) {
    return plugin::unimplemented("zero points of another type");
  }
  if (!plugin::is_static(tensor)) return plugin::unimplemented("unknown zero points");
  const std::int64_t given = plugin::num_elements(tensor);
  const bool fits = given == 1 || (tensor.rank == 1 && (count < 0 || given == count));
  return fits ? plugin::ok() : plugin::unimplemented("zero points of another shape");
}

/// A panel is bytes [groups][width][4], zero points [width], and sums less depth * zero point
/// [width]. Integers wrap, as those of the product do.
void pack_sum_panel(const BytePanels& panels, const ByteColumns& columns, const ByteZeros& zeros,
                    std::int64_t first, Isa isa, std::byte* panel) {
  auto* column_zeros =
      reinterpret_cast<std::int32_t*>(panel + panels.groups() * kByteGroup * panels.width);
  std::int32_t* sums = column_zeros + panels.width;
  SLUICE_CPU_PICK(isa, pack_byte_columns)
  (columns, panels.width, reinterpret_cast<std::int8_t*>(panel), sums);
  for (std::int64_t j = 0; j < panels.width; ++j) {
    const bool is_there = j < columns.columns;
    column_zeros[j] = is_there ? zeros.of_column(first + j) : 0;
    const auto whole = static_cast<std::uint32_t>(columns.depth * column_zeros[j]);
    sums[j] = is_there ? static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[j]) - whole) : 0;
  }
}

void multiply_sum_panel(const BytePanels& panels, const ByteRows& rows, const std::byte* panel,
                        bool is_narrow, std::int64_t columns, Isa isa, std::int32_t* c,
                        std::int64_t c_row) {
  const ByteTileSet& set = byte_tiles(isa);
  const std::int64_t row_bytes = panels.groups() * kByteGroup;
  ByteTile tile;
  tile.a_row = row_bytes;
  tile.b = reinterpret_cast<const std::int8_t*>(panel);
  tile.groups = panels.groups();
  tile.c_row = c_row;
  tile.columns = static_cast<int>(columns);
  tile.sums.column_zeros = reinterpret_cast<const std::int32_t*>(panel + panels.width * row_bytes);
  tile.sums.column_sums = tile.sums.column_zeros + panels.width;
  const std::int64_t tiles = divide_up(rows.count, set.rows);
  for (std::int64_t t = 0; t < tiles; ++t) {
    const std::int64_t begin = rows.count * t / tiles;
    const std::int64_t end = rows.count * (t + 1) / tiles;
    tile.a = rows.bytes + begin * row_bytes;
    tile.sums.c = c + begin * c_row;
    tile.sums.row_zeros = rows.zeros + begin;
    tile.sums.row_sums = rows.sums + begin;
    set.find(static_cast<int>(end - begin), tile.columns, is_narrow)(tile);
  }
}

}  // namespace sluice::cpu
