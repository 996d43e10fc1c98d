#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// Element-wise operations on floats. `alpha` and `beta` are the step's constants.
enum class BodyOp : std::uint8_t {
  // two operands
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMin,
  kMax,
  kPow,
  kLess,  ///< 1 or 0, as all comparisons
  kLessOrEqual,
  kEqual,
  kKeepWhere,   ///< b != 0 ? a : 0
  kKeepUnless,  ///< b == 0 ? a : 0
  kEither,      ///< a | b, bit by bit: joins what kKeepWhere and kKeepUnless left
  kPrelu,
  kMulAdd,  ///< a * b + c, both rounded: of three operands, made by BodyBuilder alone
  // one operand
  kCopy,
  kNeg,
  kAbs,
  kSquare,
  kSqrt,
  kPowHalf,  ///< x to the power of 1/2: infinite for either infinity, and 0 for -0
  kReciprocal,
  kExp,
  kLog,
  kErf,
  kTanh,
  kSigmoid,
  kRelu,
  kGelu,         ///< x/2 * (1 + erf(x / sqrt 2))
  kGeluTanh,     ///< x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
  kScale,        ///< alpha * x
  kSilu,         ///< x * sigmoid(alpha * x)
  kLeakyRelu,    ///< x < 0 ? alpha * x : x
  kElu,          ///< x < 0 ? alpha * (exp x - 1) : x
  kHardSigmoid,  ///< min(1, max(0, alpha * x + beta))
  kHardSwish,    ///< x * min(1, max(0, x / 6 + 1/2))
  kClip,         ///< min(beta, max(alpha, x)): beta where alpha > beta, as ONNX has it
  kSoftplus,     ///< log(1 + exp x)
  kSoftsign,     ///< x / (1 + |x|)
  kThreshold,    ///< x > alpha ? x : 0
  kFloor,
  kCeil,
  kRound,
  kSign,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kNot,    ///< x == 0
  kIsNan,  ///< x != x
  kRoundToF16,
  kRoundToBf16,
  kCount,
};

inline constexpr bool is_binary(BodyOp op) { return op <= BodyOp::kPrelu; }

/// One instruction. Operands and result are numbered: inputs first (0 to kBodyMaxInputs - 1), then
/// temporaries, kBodyOut, the output tile, and constants from kBodyFirstConstant on.
struct BodyStep {
  BodyOp op = BodyOp::kCopy;
  std::uint8_t a = 0;
  std::uint8_t b = 0;
  std::uint8_t result = 0;
  float alpha = 0;
  float beta = 0;
  std::uint8_t c = 0;
};

inline constexpr int kBodyMaxInputs = 8;
inline constexpr int kBodyMaxTemps = 6;
inline constexpr int kBodyMaxSteps = 32;
inline constexpr int kBodyFirstTemp = kBodyMaxInputs;
inline constexpr int kBodyOut = kBodyMaxInputs + kBodyMaxTemps;
inline constexpr int kBodyFirstConstant = kBodyOut + 1;
inline constexpr int kBodyMaxConstants = 32;
inline constexpr int kBodyTileFloats = 2048;  ///< rows * cols of a tile stay within this

/// A straight-line element-wise program: what a fused chain computes, alone or as the epilogue of a
/// matrix product or convolution (input 0 is then the finished tile itself). Plain data; made by
/// BodyBuilder.
struct Body {
  int step_count = 0;  ///< zero: no epilogue
  int input_count = 0;
  int temp_count = 0;
  BodyStep steps[kBodyMaxSteps];
  float constants[kBodyMaxConstants];

  bool empty() const { return step_count == 0; }
  std::int64_t scratch_bytes() const {
    return std::int64_t{temp_count} * kBodyTileFloats * static_cast<std::int64_t>(sizeof(float));
  }
};

/// Element (r, c) of an operand is data[r * row + c * col]; `col` is 0 or 1. So a scalar is (0, 0),
/// a value per row (1, 0), a value per column (0, 1), a full tile (row stride, 1).
struct BodyOperand {
  const float* data = nullptr;
  std::int64_t row = 0;
  std::int64_t col = 0;

  /// The same operand seen from (row, col) on.
  BodyOperand at(std::int64_t first_row, std::int64_t first_col) const {
    return {data + first_row * row + first_col * col, row, col};
  }
};

struct BodyTile {
  float* out = nullptr;
  std::int64_t out_row = 0;  ///< distance of rows in floats
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// Runs `body` over one tile. The output may be an input, element on element.
/// Requires: rows * cols <= kBodyTileFloats (any number of rows and columns when the body has no
///           temporaries), `inputs` holds body.input_count operands, `scratch`
///           body.scratch_bytes().
SLUICE_CPU_EACH_ISA(void run_body(const Body& body, const BodyOperand* inputs, const BodyTile& tile,
                                  float* scratch);)

using RunBody = void (*)(const Body&, const BodyOperand*, const BodyTile&, float*);

}  // namespace sluice::cpu
