// Boxes that a detector found, drawn over the picture that it saw.
import {h} from './dom.js';
import {labelled, select} from './fields.js';
import {sizeOf} from './tensor.js';

const kMaxBoxes = 1000;
const kNumHues = 8;
const kSide = 480; // pixels of the drawing's longer side

/** Left, top, right and bottom of four numbers. */
const kOrders = {
  'x1 y1 x2 y2': ([x1, y1, x2, y2]) => [x1, y1, x2, y2],
  'y1 x1 y2 x2': ([y1, x1, y2, x2]) => [x1, y1, x2, y2],
  'centre x y, width height': ([x, y, w, b]) => [x - w / 2, y - b / 2, x + w / 2, y + b / 2],
  'x1 y1, width height': ([x, y, w, b]) => [x, y, x + w, y + b],
};

/** {boxes, scores, classes} among the outputs; null without boxes. The last two may be undefined. */
export function findBoxes(outputs) {
  const isBoxes = ({datatype, shape}) => /^(FP|BF)/.test(datatype) && shape.at(-1) === 4 && shape.length >= 2 &&
    (shape.length === 2 || (shape.length === 3 && shape[0] === 1)) && sizeOf(shape) > 0 && sizeOf(shape) <= 4 * kMaxBoxes;
  const boxes = outputs.find(isBoxes);
  if (!boxes) return null;
  const others = outputs.filter((output) => output !== boxes && sizeOf(output.shape) === sizeOf(boxes.shape) / 4);
  const scores = others.find(({datatype, values}) => /^(FP|BF)/.test(datatype) && values.every((v) => v >= 0 && v <= 1));
  const classes = others.find((output) => output !== scores && output.values.every(Number.isInteger));
  return {boxes: boxes.values, scores: scores?.values, classes: classes?.values};
}

/** The drawing of what `findBoxes` found over a canvas. `labels`: names of classes, or none. */
export function boxesPart(found, picture, labels) {
  const scale = kSide / Math.max(picture.width, picture.height);
  const canvas = h('canvas', {class: 'found', width: picture.width * scale, height: picture.height * scale, role: 'img',
    'aria-label': 'the picture with the boxes of the list below'});
  const order = select(Object.keys(kOrders));
  const least = h('input', {type: 'range', min: 0, max: 1, step: 0.05, value: 0.5});
  const list = h('ol', {class: 'texts'});
  const hues = getComputedStyle(document.documentElement);
  // Parts of the picture's size, or pixels of it.
  const areShares = found.boxes.every((value) => Math.abs(value) <= 2);
  const [width, height] = areShares ? [canvas.width, canvas.height] : [scale, scale];

  function draw() {
    const pen = canvas.getContext('2d');
    pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
    pen.font = '600 13px sans-serif';
    pen.lineWidth = 2.5;
    const rows = [];
    for (let i = 0; 4 * i < found.boxes.length; i += 1) {
      const score = found.scores?.[i];
      if (score !== undefined && score < Number(least.value)) continue;
      const kind = found.classes?.[i] ?? 0;
      const name = found.classes ? labels[kind] ?? `class ${kind}` : `box ${i + 1}`;
      const text = score === undefined ? name : `${name} ${Math.round(100 * score)} %`;
      const [x1, y1, x2, y2] = kOrders[order.value](found.boxes.slice(4 * i, 4 * i + 4));
      pen.strokeStyle = hues.getPropertyValue(`--hue-${Math.abs(kind) % kNumHues}`) || 'red';
      pen.strokeRect(x1 * width, y1 * height, (x2 - x1) * width, (y2 - y1) * height);
      pen.fillStyle = pen.strokeStyle;
      pen.fillRect(x1 * width, y1 * height - 18, pen.measureText(text).width + 8, 18);
      pen.fillStyle = 'white';
      pen.fillText(text, x1 * width + 4, y1 * height - 5);
      rows.push(h('li', {}, text));
    }
    list.replaceChildren(...(rows.length > 0 ? rows : [h('li', {}, 'No box has such a score.')]));
  }
  order.addEventListener('change', draw);
  least.addEventListener('input', draw);
  draw();
  return h('div', {class: 'answer'}, canvas, list,
    h('div', {class: 'halves'}, labelled('A box is', order), found.scores ? labelled('Least score', least) : null));
}
