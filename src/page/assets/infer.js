// One request through the Open Inference Protocol, tensors in its binary form.
import {ask, modelPath} from './daemon.js';
import {decode, encode} from './tensor.js';

const kHead = 'Inference-Header-Content-Length';

/**
 * `inputs`: [{name, datatype, shape, values}]. Resolves to {outputs: [{name, datatype, shape, values}], ms}. Throws
 * Refusal.
 */
export async function infer(name, version, inputs) {
  const parts = inputs.map((input) => encode(input.datatype, input.values));
  const head = new TextEncoder().encode(JSON.stringify({
    inputs: inputs.map((input, i) => ({name: input.name, datatype: input.datatype, shape: input.shape,
      parameters: {binary_data_size: parts[i].length}})),
    parameters: {binary_data_output: true},
  }));
  const start = performance.now();
  const response = await ask(`${modelPath(name, version)}/infer`, {
    method: 'POST',
    headers: {'Content-Type': 'application/octet-stream', [kHead]: String(head.length)},
    body: new Blob([head, ...parts]),
  });
  const body = new Uint8Array(await response.arrayBuffer());
  const ms = performance.now() - start;
  const size = Number(response.headers.get(kHead) ?? body.length);
  const answer = JSON.parse(new TextDecoder().decode(body.subarray(0, size)));
  let at = size;
  const outputs = answer.outputs.map((output) => {
    const numBytes = output.parameters?.binary_data_size ?? 0;
    const values = output.data?.flat(Infinity) ?? decode(output.datatype, body.subarray(at, at + numBytes));
    at += numBytes;
    return {name: output.name, datatype: output.datatype, shape: output.shape, values};
  });
  return {outputs, ms};
}
