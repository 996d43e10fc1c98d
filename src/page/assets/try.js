// A form that sends one request: numbers or texts that the user types, a picture, zeros or random numbers.
import {h, say} from './dom.js';
import {answer} from './answer.js';
import {boxesPart, findBoxes} from './boxes.js';
import {Refusal} from './daemon.js';
import {Mistake, labelled, select} from './fields.js';
import {infer} from './infer.js';
import {copyOf, elements, fit, kScales, layoutOf, shapeOf} from './picture.js';
import {decodeSound, fitSound, kRates, soundOf} from './sound.js';
import {describe, isText, sizeOf} from './tensor.js';

const kMaxElements = 1 << 24;

/** The dimensions that the user may choose. */
function shapeField(shape) {
  const field = h('input', {inputmode: 'numeric', spellcheck: 'false', autocomplete: 'off',
    value: shape.map((dimension) => Math.max(dimension, 1)).join(', ')});
  return {
    field,
    read() {
      const parts = field.value.split(/[\s,×x]+/).filter(Boolean).map(Number);
      const fits = parts.length === shape.length &&
        parts.every((part, i) => Number.isInteger(part) && part >= 0 && (shape[i] < 0 || shape[i] === part));
      if (!fits) throw new Mistake(`Shape: write ${shape.map((d) => (d < 0 ? 'a number' : d)).join(', ')}.`);
      if (sizeOf(parts) > kMaxElements) throw new Mistake(`Shape: at most ${kMaxElements} elements.`);
      return parts;
    },
  };
}

/** Numbers as JSON, nested or not, or separated by spaces, commas or lines. */
function parseNumbers(text, count, datatype) {
  let values;
  try {
    values = [JSON.parse(text)].flat(Infinity);
  } catch {
    values = text.split(/[\s,;]+/).filter(Boolean).map(Number);
  }
  values = values.map((value) => (typeof value === 'boolean' ? Number(value) : value));
  const wrong = values.find((value) => typeof value !== 'number' || Number.isNaN(value));
  if (wrong !== undefined) throw new Mistake(`Values: "${wrong}" is no number.`);
  if (/^U?INT/.test(datatype) && !values.every(Number.isInteger)) throw new Mistake('Values: whole numbers only.');
  if (values.length !== count) throw new Mistake(`Values: ${count} are needed, there are ${values.length}.`);
  return values;
}

/** Fields of one way to fill an input. Each has {node, read()} with {shape, values}, or a promise of it. */
const kWays = {
  Values: (input) => {
    const shape = shapeField(input.shape);
    const field = h('textarea', {rows: 3, spellcheck: 'false', placeholder: isText(input.datatype) ? 'a text per line'
      : '[[0.5, 1], [2, 3]] or 0.5 1 2 3'});
    return {
      node: h('div', {}, labelled('Shape', shape.field), labelled(isText(input.datatype) ? 'Texts' : 'Values', field)),
      read() {
        const dimensions = shape.read();
        const count = sizeOf(dimensions);
        if (!isText(input.datatype)) return {shape: dimensions, values: parseNumbers(field.value, count, input.datatype)};
        const values = count === 1 ? [field.value] : field.value.split('\n');
        if (values.length !== count) throw new Mistake(`Texts: ${count} lines are needed, there are ${values.length}.`);
        return {shape: dimensions, values};
      },
    };
  },
  Random: (input) => filled(input, () => (/^(FP|BF)/.test(input.datatype) ? Math.random() : Math.round(Math.random()))),
  Zeros: (input) => filled(input, () => 0),
};

function filled(input, make) {
  const shape = shapeField(input.shape);
  return {
    node: labelled('Shape', shape.field),
    read() {
      const dimensions = shape.read();
      return {shape: dimensions, values: Array.from({length: sizeOf(dimensions)}, make)};
    },
  };
}

function picture(input) {
  const layout = layoutOf(input.datatype, input.shape);
  const canvas = h('canvas', {width: layout.width, height: layout.height, class: 'preview', role: 'img',
    'aria-label': 'no picture yet'});
  const file = h('input', {type: 'file', accept: 'image/*'});
  const scale = select(Object.keys(kScales));
  if (input.datatype === 'UINT8') scale.value = '0 to 255';
  if (layout.channels === 3 && input.datatype.startsWith('FP')) scale.value = 'ImageNet';
  const hint = h('p', {class: 'soft small'}, `Drop a picture here, paste or choose one. It becomes ${layout.width} × ${
    layout.height}, ${layout.channels === 1 ? 'grey' : 'in colour'}.`);
  const drop = h('div', {class: 'drop'}, canvas, h('div', {}, hint, labelled('Picture', file),
    labelled('Values of a channel', scale)));
  let isDrawn = false;
  async function take(blob) {
    if (!blob) return;
    try {
      fit(await createImageBitmap(blob), layout, canvas);
      isDrawn = true;
      canvas.setAttribute('aria-label', `the picture ${blob.name ?? ''} at the size that the model sees`);
    } catch {
      say(hint, 'The browser cannot read this file as a picture.');
    }
  }
  file.addEventListener('change', () => take(file.files[0]));
  drop.addEventListener('dragover', (event) => {
    event.preventDefault();
    drop.classList.add('over');
  });
  drop.addEventListener('dragleave', () => drop.classList.remove('over'));
  drop.addEventListener('drop', (event) => {
    event.preventDefault();
    drop.classList.remove('over');
    take(event.dataTransfer.files[0]);
  });
  drop.addEventListener('paste', (event) => take(event.clipboardData.files[0]));
  return {
    node: drop,
    read() {
      if (!isDrawn) throw new Mistake('Picture: choose one first.');
      const values = elements(canvas, layout, scale.value);
      return {shape: shapeOf(layout, input.shape.length), canvas: copyOf(canvas),
        values: /^(FP|BF)/.test(input.datatype) ? values : values.map(Math.round)};
    },
  };
}

function sound(input) {
  const layout = soundOf(input.datatype, input.shape);
  const file = h('input', {type: 'file', accept: 'audio/*', capture: 'user'});
  const rate = select(kRates);
  const hint = h('p', {class: 'soft small'}, layout.samples > 0
    ? `It becomes ${layout.samples} samples: the end is cut, or filled with silence.` : 'All of it is sent.');
  return {
    node: h('div', {}, labelled('Sound', file), labelled('Samples a second', rate), hint),
    async read() {
      if (!file.files[0]) throw new Mistake('Sound: choose a file first.');
      const samples = await decodeSound(file.files[0], Number(rate.value)).catch(() => {
        throw new Mistake('Sound: the browser cannot read this file as a sound.');
      });
      const values = fitSound(samples, layout);
      return {shape: layout.rank === 2 ? [1, values.length] : [values.length], values};
    },
  };
}

/** All of one input: the way to fill it, and its fields. */
function inputPart(input) {
  const ways = {...(layoutOf(input.datatype, input.shape) ? {Picture: picture} : {}), ...kWays,
    ...(soundOf(input.datatype, input.shape) ? {Sound: sound} : {})};
  if (isText(input.datatype)) {
    delete ways.Random;
    delete ways.Zeros;
  }
  const way = select(Object.keys(ways));
  const fields = h('div', {class: 'fields'});
  let current = null;
  function choose() {
    current = ways[way.value](input);
    fields.replaceChildren(current.node);
  }
  way.addEventListener('change', choose);
  choose();
  return {
    node: h('fieldset', {}, h('legend', {}, h('b', {}, input.name), ' ',
      h('span', {class: 'soft'}, describe(input.datatype, input.shape))), labelled('Send', way), fields),
    async read() {
      try {
        return {name: input.name, datatype: input.datatype, ...await current.read()};
      } catch (error) {
        if (error instanceof Mistake) throw new Mistake(`${input.name}: ${error.message}`);
        throw error;
      }
    },
  };
}

/** The form for a model of the Open Inference Protocol. `about`: its metadata. */
export function tryForm(name, version, about) {
  const inputs = about.inputs.map(inputPart);
  const button = h('button', {type: 'submit'}, 'Run');
  const status = h('p', {class: 'small', role: 'status'});
  const result = h('div', {class: 'answers'});
  const file = h('input', {type: 'file', accept: '.txt,text/plain'});
  let labels = [];
  let shown = null;
  let picture;
  function show() {
    if (!shown) return;
    const found = picture && findBoxes(shown.outputs);
    result.replaceChildren(...(found ? [boxesPart(found, picture, labels)] : []),
      ...shown.outputs.map((output) => answer(output, labels)));
  }
  file.addEventListener('change', async () => {
    labels = (await file.files[0]?.text() ?? '').split('\n').map((line) => line.trim());
    show();
  });
  const form = h('form', {class: 'try'}, inputs.map((part) => part.node), labelled('Labels, a line each (optional)', file),
    h('div', {class: 'line-up'}, button, status), result);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    status.className = 'small soft';
    try {
      button.disabled = true;
      const request = await Promise.all(inputs.map((part) => part.read()));
      say(status, 'Running …');
      shown = await infer(name, version, request);
      picture = request.find((input) => input.canvas)?.canvas;
      say(status, `Answered in ${shown.ms.toFixed(1)} ms, the way there and back included.`);
      show();
    } catch (error) {
      if (!(error instanceof Mistake) && !(error instanceof Refusal)) throw error;
      status.className = 'small bad';
      say(status, error.message);
    } finally {
      button.disabled = false;
    }
  });
  return form;
}
