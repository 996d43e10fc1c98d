// A picture as a tensor: cut to the middle, resized in the browser, scaled as the model was trained.

/** What a network may expect of a channel's value, which is 0 to 1 in the picture. */
export const kScales = {
  '0 to 1': () => (value) => value,
  '0 to 255': () => (value) => 255 * value,
  '-1 to 1': () => (value) => 2 * value - 1,
  'ImageNet': (channel) => (value) =>
    (value - [0.485, 0.456, 0.406][channel % 3]) / [0.229, 0.224, 0.225][channel % 3],
};

const kChannels = [1, 3, 4];
const kUsualSize = 224;

/**
 * Where channels, rows and columns stand in a shape: {channels, height, width, isFirst}. Null for a tensor that holds
 * no picture. A size that any number may take becomes the usual one.
 */
export function layoutOf(datatype, shape) {
  const isNumber = /^(FP|BF|U?INT)/.test(datatype);
  const inner = shape.length === 4 ? shape.slice(1) : shape;
  if (!isNumber || inner.length !== 3 || (shape.length === 4 && shape[0] > 1)) return null;
  const size = (dimension) => (dimension > 0 ? dimension : kUsualSize);
  const isFirst = kChannels.includes(inner[0]);
  if (!isFirst && !kChannels.includes(inner[2])) return null;
  return isFirst ? {channels: inner[0], height: size(inner[1]), width: size(inner[2]), isFirst}
    : {channels: inner[2], height: size(inner[0]), width: size(inner[1]), isFirst};
}

/** The shape that a picture of this layout has. */
export function shapeOf(layout, rank) {
  const {channels, height, width, isFirst} = layout;
  const inner = isFirst ? [channels, height, width] : [height, width, channels];
  return rank === 4 ? [1, ...inner] : inner;
}

/** Draws the middle of `source` (a bitmap or a canvas) on `canvas`, which gets the layout's size. */
export function fit(source, layout, canvas) {
  canvas.width = layout.width;
  canvas.height = layout.height;
  const scale = Math.max(layout.width / source.width, layout.height / source.height);
  const width = source.width * scale;
  const height = source.height * scale;
  const pen = canvas.getContext('2d', {willReadFrequently: true});
  pen.imageSmoothingQuality = 'high';
  pen.drawImage(source, (layout.width - width) / 2, (layout.height - height) / 2, width, height);
}

/** The same picture on a canvas of its own. */
export function copyOf(canvas) {
  const copy = document.createElement('canvas');
  copy.width = canvas.width;
  copy.height = canvas.height;
  copy.getContext('2d').drawImage(canvas, 0, 0);
  return copy;
}

/** The elements of the picture on a canvas, in the layout's order. */
export function elements(canvas, layout, scale) {
  const {channels, height, width, isFirst} = layout;
  const {data} = canvas.getContext('2d', {willReadFrequently: true}).getImageData(0, 0, width, height);
  const values = new Float32Array(channels * height * width);
  for (let channel = 0; channel < channels; channel += 1) {
    const convert = kScales[scale](channel);
    for (let i = 0; i < height * width; i += 1) {
      // A single channel is the luminance that television uses (ITU-R BT.601).
      const value = channels === 1 ? 0.299 * data[4 * i] + 0.587 * data[4 * i + 1] + 0.114 * data[4 * i + 2]
        : data[4 * i + channel];
      values[isFirst ? channel * height * width + i : i * channels + channel] = convert(value / 255);
    }
  }
  return values;
}
