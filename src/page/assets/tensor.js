// Tensors of the Open Inference Protocol: names, elements to bytes and back.

/** Bytes of an element; strings have none. */
const kTypes = {
  BOOL: [1, 'Uint8'], UINT8: [1, 'Uint8'], INT8: [1, 'Int8'], UINT16: [2, 'Uint16'], INT16: [2, 'Int16'],
  FP16: [2, 'Float16'], BF16: [2, 'BFloat16'], UINT32: [4, 'Uint32'], INT32: [4, 'Int32'], FP32: [4, 'Float32'],
  UINT64: [8, 'BigUint64'], INT64: [8, 'BigInt64'], FP64: [8, 'Float64'],
};

export function isText(datatype) {
  return datatype === 'BYTES';
}

export function sizeOf(shape) {
  return shape.reduce((product, dimension) => product * dimension, 1);
}

/** "FP32 1 × 3 × 224 × 224"; a dimension that any number may take is a letter. */
export function describe(datatype, shape) {
  const letters = 'NABCD';
  let numOpen = 0;
  const parts = shape.map((dimension) => {
    if (dimension >= 0) return dimension;
    numOpen += 1;
    return letters[Math.min(numOpen - 1, letters.length - 1)];
  });
  return `${datatype} ${parts.length > 0 ? parts.join(' × ') : 'scalar'}`;
}

/** IEEE 754, binary16. */
function halfToNumber(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The nearest half, ties to even. */
function numberToHalf(value) {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size >= 65520) return sign | 0x7c00;
  const exponent = Math.max(-14, Math.floor(Math.log2(size || 1e-30)));
  const step = 2 ** (exponent - 10);
  const scaled = size / step;
  let whole = Math.floor(scaled);
  if (scaled - whole > 0.5 || (scaled - whole === 0.5 && whole % 2 === 1)) whole += 1;
  return sign | ((exponent + 14) * 1024 + whole);
}

const scratch = new DataView(new ArrayBuffer(8));

function write(view, at, kind, value) {
  if (kind === 'Float16') {
    view.setUint16(at, numberToHalf(value), true);
  } else if (kind === 'BFloat16') {
    scratch.setFloat32(0, value);
    view.setUint16(at, scratch.getUint16(0), true);
  } else if (kind.startsWith('Big')) {
    view[`set${kind}`](at, BigInt(Math.trunc(value)), true);
  } else {
    view[`set${kind}`](at, value, true);
  }
}

function read(view, at, kind) {
  if (kind === 'Float16') return halfToNumber(view.getUint16(at, true));
  if (kind === 'BFloat16') {
    scratch.setUint32(0, view.getUint16(at, true) << 16);
    return scratch.getFloat32(0);
  }
  return Number(view[`get${kind}`](at, true));
}

/** Numbers, or for BYTES texts, as the protocol's binary form. */
export function encode(datatype, values) {
  if (isText(datatype)) {
    const texts = values.map((text) => new TextEncoder().encode(text));
    const bytes = new Uint8Array(texts.reduce((sum, text) => sum + 4 + text.length, 0));
    let at = 0;
    for (const text of texts) {
      new DataView(bytes.buffer).setUint32(at, text.length, true);
      bytes.set(text, at + 4);
      at += 4 + text.length;
    }
    return bytes;
  }
  const [size, kind] = kTypes[datatype];
  const bytes = new Uint8Array(size * values.length);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < values.length; i += 1) write(view, i * size, kind, Number(values[i]));
  return bytes;
}

export function decode(datatype, bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values = [];
  if (isText(datatype)) {
    for (let at = 0; at + 4 <= bytes.length;) {
      const size = view.getUint32(at, true);
      values.push(new TextDecoder().decode(bytes.subarray(at + 4, at + 4 + size)));
      at += 4 + size;
    }
    return values;
  }
  const [size, kind] = kTypes[datatype];
  for (let at = 0; at + size <= bytes.length; at += size) values.push(read(view, at, kind));
  return values;
}
