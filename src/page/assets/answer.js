// What a model answered: the highest values as bars, numbers, or texts.
import {h} from './dom.js';
import * as format from './format.js';
import {describe, isText, sizeOf} from './tensor.js';

const kNumBars = 8;
const kMaxShown = 64;

function number(value) {
  if (!Number.isFinite(value)) return String(value);
  return Number.isInteger(value) ? format.count(value) : String(Number(value.toPrecision(4)));
}

/** Whether the values are a score for each of several classes. */
function isScores({datatype, shape, values}) {
  const isFloat = /^(FP|BF)/.test(datatype);
  return isFloat && values.length > 1 && values.length <= 1e5 && shape.at(-1) === values.length;
}

function softmax(values) {
  const most = Math.max(...values);
  const powers = values.map((value) => Math.exp(value - most));
  const sum = powers.reduce((all, one) => all + one, 0);
  return powers.map((value) => value / sum);
}

/** Values that are no probabilities become some, and the title says so. */
function bars({values}, labels) {
  const sum = values.reduce((all, one) => all + one, 0);
  const areShares = values.every((value) => value >= 0 && value <= 1) && Math.abs(sum - 1) < 0.02;
  const shares = areShares ? values : softmax(values);
  const order = [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, kNumBars);
  const rows = order.map((i) => {
    const fill = h('i');
    fill.style.width = `${(100 * shares[i]).toFixed(1)}%`;
    return h('li', {}, h('span', {class: 'clip'}, labels[i] ?? `class ${i}`),
      h('span', {class: 'meter', 'aria-hidden': 'true'}, fill),
      h('b', {class: 'number'}, `${(100 * shares[i]).toFixed(1)} %`));
  });
  return [areShares ? null : h('p', {class: 'soft small'}, 'Softmax of the values:'), h('ol', {class: 'bars'}, rows)];
}

function numbers({values}) {
  const finite = values.filter(Number.isFinite);
  const mean = finite.reduce((all, one) => all + one, 0) / (finite.length || 1);
  const summary = values.length > 1
    ? h('p', {class: 'soft small'}, `least ${number(finite.reduce((a, b) => Math.min(a, b), Infinity))}, ` +
        `mean ${number(mean)}, most ${number(finite.reduce((a, b) => Math.max(a, b), -Infinity))}` +
        `${finite.length < values.length ? `, ${values.length - finite.length} not finite` : ''}`) : null;
  const more = values.length > kMaxShown ? ` … and ${format.count(values.length - kMaxShown)} more` : '';
  return [summary, h('p', {class: 'values number'}, values.slice(0, kMaxShown).map(number).join('  ') + more)];
}

/** The part of one output. `labels`: names of classes, or none. */
export function answer(output, labels) {
  const about = h('p', {class: 'line-up'}, h('b', {}, output.name),
    h('span', {class: 'soft small'}, describe(output.datatype, output.shape)));
  if (sizeOf(output.shape) === 0) return h('div', {class: 'answer'}, about, h('p', {class: 'soft'}, 'It is empty.'));
  if (isText(output.datatype)) {
    const texts = output.values.slice(0, kMaxShown).map((text) => h('li', {}, text));
    return h('div', {class: 'answer'}, about, h('ul', {class: 'texts'}, texts));
  }
  return h('div', {class: 'answer'}, about, isScores(output) ? bars(output, labels) : numbers(output));
}
