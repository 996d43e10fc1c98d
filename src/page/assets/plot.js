// A plot of the last two minutes that moves with the clock. A pointer, or the arrow keys, read it.
import {h, s, say, mark} from './dom.js';
import {kWindowS} from './history.js';

const kWidth = 600;
const kHeight = 96;

/** The least round number that is not below `value`. */
function ceiling(value) {
  if (value <= 0) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * size).find((step) => step >= value * 0.999999);
}

/** The largest power of ten that is not above `value`. */
function floor(value) {
  return 10 ** Math.floor(Math.log10(value));
}

/** Runs of points without a gap between them. */
function runs(points) {
  const all = [[]];
  for (const point of points) {
    if (point[1] !== null) {
      all.at(-1).push(point);
    } else if (all.at(-1).length > 0) {
      all.push([]);
    }
  }
  return all.filter((run) => run.length > 0);
}

/**
 * `lines`: [{name, kind, area}], where `kind` is a class of parts.css. `format` writes a value. `isLog`: each decade
 * takes as much room, for values that differ by orders of magnitude; else the plot starts at 0.
 * The part has `update([Series], timeS)`.
 */
export function plot({title, lines, format, least = 0, isLog = false}) {
  const values = lines.map((line) => h('b', {class: 'number'}, '–'));
  const paths = lines.map((line) => s('path', {class: `line ${line.kind}`}));
  const areas = lines.map((line) => s('path', {class: `area ${line.kind}`}));
  const cursor = s('line', {class: 'cursor', y1: 0, y2: kHeight, visibility: 'hidden'});
  const drawing = s('svg', {viewBox: `0 0 ${kWidth} ${kHeight}`, preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    s('line', {class: 'grid', x1: 0, x2: kWidth, y1: kHeight / 2, y2: kHeight / 2}), areas, paths, cursor);
  const top = h('span', {class: 'top'});
  const bottom = h('span', {class: 'bottom'});
  const reading = h('span', {class: 'reading'});
  const field = h('div', {class: 'field', tabindex: '0', role: 'img', 'aria-label': title}, drawing, top, bottom,
    reading);
  const legend = lines.map((line, i) => h('span', {class: 'key'},
    lines.length > 1 ? h('i', {class: `swatch ${line.kind}`}) : null,
    lines.length > 1 ? h('span', {class: 'soft'}, line.name) : null, values[i]));
  const node = h('figure', {class: 'plot'}, h('figcaption', {}, h('h2', {}, title), h('span', {class: 'keys'}, legend)),
    field);

  let shown = {series: [], timeS: 0};
  let readAt = null; // seconds before now

  function read() {
    mark(cursor, 'visibility', readAt === null ? 'hidden' : 'visible');
    if (readAt === null) return say(reading, '');
    const at = shown.timeS - readAt;
    const x = kWidth * (1 - readAt / kWindowS);
    mark(cursor, 'x1', x);
    mark(cursor, 'x2', x);
    const texts = lines.map((line, i) => {
      const points = shown.series[i]?.points ?? [];
      const near = points.reduce((best, one) =>
        (Math.abs(one[0] - at) < Math.abs((best?.[0] ?? -1e9) - at) ? one : best), null);
      const value = near && Math.abs(near[0] - at) < 3 ? near[1] : null;
      return `${lines.length > 1 ? `${line.name} ` : ''}${value === null ? '–' : format(value)}`;
    });
    return say(reading, `${Math.round(readAt)} s ago: ${texts.join(', ')}`);
  }

  field.addEventListener('pointermove', (event) => {
    const box = field.getBoundingClientRect();
    readAt = kWindowS * Math.min(1, Math.max(0, 1 - (event.clientX - box.left) / box.width));
    read();
  });
  for (const end of ['pointerleave', 'blur']) {
    field.addEventListener(end, () => {
      readAt = null;
      read();
    });
  }
  field.addEventListener('keydown', (event) => {
    const step = {ArrowLeft: 1, ArrowRight: -1, PageUp: 10, PageDown: -10}[event.key];
    if (step === undefined) return;
    event.preventDefault();
    readAt = Math.min(kWindowS, Math.max(0, (readAt ?? 0) + step));
    read();
  });

  function update(series, timeS) {
    shown = {series, timeS};
    const all = series.flatMap((one) => one.points.map((point) => point[1] ?? 0));
    const most = Math.max(least, ...all);
    const limit = ceiling(most);
    const start = isLog ? floor(Math.min(limit / 2, ...all.filter((value) => value > 0))) : 0;
    const part = (value) => (isLog ? Math.log(Math.max(value, start) / start) / Math.log(limit / start) : value / limit);
    const x = (time) => (kWidth * (1 - (timeS - time) / kWindowS)).toFixed(1);
    const y = (value) => (kHeight - 2 - (kHeight - 6) * part(value)).toFixed(1);
    series.forEach((one, i) => {
      const parts = runs(one.points);
      // "h0" draws a dot for a value without neighbours.
      const text = parts.map((run) => `M${run.map((p) => `${x(p[0])} ${y(p[1])}`).join('L')}h0`).join('');
      mark(paths[i], 'd', text || 'M0 0');
      const filled = parts.map((run) => `M${x(run[0][0])} ${kHeight}L${
        run.map((p) => `${x(p[0])} ${y(p[1])}`).join('L')}L${x(run.at(-1)[0])} ${kHeight}Z`).join('');
      mark(areas[i], 'd', (lines[i].area && filled) || 'M0 0');
      say(values[i], one.last === null ? '–' : format(one.last));
    });
    say(top, most > 0 ? format(limit) : '');
    say(bottom, isLog && most > 0 ? format(start) : '');
    mark(field, 'aria-label', `${title}, the last two minutes. Now ${lines.map((line, i) =>
      `${lines.length > 1 ? `${line.name} ` : ''}${values[i].textContent}`).join(', ')}; at most ${format(most)}. ` +
      'Arrow keys read earlier values.');
    read();
  }
  return {node, update};
}

/** A line of a table: no axis, no text. */
export function spark(kind) {
  const path = s('path', {class: `line ${kind}`});
  const node = s('svg', {class: 'spark', viewBox: '0 0 120 24', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    path);
  function update(series, timeS) {
    const most = Math.max(1e-9, ...series.points.map((point) => point[1] ?? 0));
    const text = runs(series.points).map((run) => `M${run.map(([time, value]) =>
      `${(120 * (1 - (timeS - time) / kWindowS)).toFixed(1)} ${(22 - 20 * (value / most)).toFixed(1)}`).join('L')}`);
    mark(path, 'd', text.join('') || 'M0 0');
  }
  return {node, update};
}
