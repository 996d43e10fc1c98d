// A sound as a tensor: one channel, resampled by the browser, cut or filled with silence to the model's length.

/** What models of speech and sound are trained with; the first is most common. */
export const kRates = ['16000', '8000', '22050', '24000', '32000', '44100', '48000'];

const kLeastSamples = 400;

/** {samples, rank}: `samples` of a tensor that may hold a sound, 0 for any number. Null for others. */
export function soundOf(datatype, shape) {
  const isFloat = /^(FP|BF)/.test(datatype);
  const isRow = shape.length === 1 || (shape.length === 2 && shape[0] <= 1);
  const samples = Math.max(shape.at(-1) ?? 1, 0);
  return isFloat && isRow && (samples === 0 || samples >= kLeastSamples) ? {samples, rank: shape.length} : null;
}

/** The samples of a file, -1 to 1. Rejects what the browser cannot decode. */
export async function decodeSound(blob, rate) {
  const context = new OfflineAudioContext(1, 1, rate); // decodes at its own rate
  const sound = await context.decodeAudioData(await blob.arrayBuffer());
  const mono = new Float32Array(sound.length);
  for (let channel = 0; channel < sound.numberOfChannels; channel += 1) {
    sound.getChannelData(channel).forEach((value, i) => {
      mono[i] += value / sound.numberOfChannels;
    });
  }
  return mono;
}

/** The samples at the length that the layout wants. */
export function fitSound(samples, layout) {
  if (layout.samples === 0) return samples;
  const fitted = new Float32Array(layout.samples);
  fitted.set(samples.subarray(0, layout.samples));
  return fitted;
}
