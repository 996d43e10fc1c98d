// The last seconds as a timeline: a track for each queue, copy and segment of a model.
import {h, s, say} from './dom.js';
import * as format from './format.js';
import {Refusal, askJson} from './daemon.js';
import {table} from './parts.js';

const kRow = {height: 30, bar: 18, operation: 9};
const kWidth = 1000;
/** Narrower bars have no text. */
const kLeastText = 46;
const kLetter = 6.4;
/** Spans in view at first. */
const kFirstView = 60;

function hueOf(what) {
  if (what === 'queue') return 'queue';
  return what.startsWith('copy') ? 'typical' : 'rate';
}

function nameOf(track) {
  return `${track.model}: ${track.what}`;
}

/** Bars of the spans that lie between two times. Operations lie in the lower half of their segment's bar. */
function draw({tracks, names, spans}, [from, to]) {
  const scale = kWidth / Math.max(1, to - from);
  const bars = spans.filter(([, , start, duration]) => start < to && start + duration > from)
    .map(([track, isOperation, start, duration, request, name]) => {
      const x = Math.max(0, (start - from) * scale);
      const width = Math.max(0.75, Math.min(kWidth, (start + duration - from) * scale) - x);
      const text = isOperation ? names[name] : `request ${request}`;
      const y = track * kRow.height + 6 + (isOperation ? kRow.bar - kRow.operation : 0);
      const room = Math.floor((width - 8) / kLetter);
      return s('g', {class: isOperation ? `operation part-${name % 6}` : hueOf(tracks[track].what)},
        s('title', {}, `${nameOf(tracks[track])}\n${text}\n${format.duration(duration)}`),
        s('rect', {x: x.toFixed(2), y, width: width.toFixed(2), height: isOperation ? kRow.operation : kRow.bar, rx: 2}),
        width < kLeastText || isOperation ? null
          : s('text', {x: x + 4, y: y + 8}, text.length > room ? `${text.slice(0, room - 1)}…` : text));
    });
  const lines = tracks.map((_, i) => s('line', {class: 'grid', x1: 0, x2: kWidth, y1: (i + 1) * kRow.height,
    y2: (i + 1) * kRow.height}));
  return s('svg', {class: 'timeline', viewBox: `0 0 ${kWidth} ${tracks.length * kRow.height}`, width: kWidth,
    height: tracks.length * kRow.height, 'aria-hidden': 'true'}, lines, bars);
}

/** The panel's content. `path` records; `onProfile` gets what was recorded. */
export function timelinePart({path, onProfile = () => {}}) {
  const record = h('button', {type: 'button'}, 'Record 2 s');
  const again = h('input', {type: 'checkbox'});
  const status = h('p', {class: 'small soft', role: 'status'});
  const ways = [['Earlier', -1, 1], ['Later', 1, 1], ['Closer', 0, 0.5], ['Wider', 0, 2]];
  const steps = ways.map(([name, step, zoom]) => h('button', {type: 'button', class: 'quiet', onclick: () => move(step, zoom)},
    name));
  const axis = h('p', {class: 'line-up small soft'}, h('span'), h('span'));
  const labels = h('ol', {class: 'tracks'});
  const field = h('div', {class: 'drawing', tabindex: '0', role: 'group',
    'aria-label': 'Drawing of the timeline. Arrow keys move it, plus and minus change how much it shows.'});
  const laid = h('div', {class: 'laid'}, labels, h('div', {}, field, axis));
  const shown = h('div', {hidden: true}, h('div', {class: 'line-up start'}, steps), laid);
  const list = table({
    caption: 'What the tracks of the timeline did',
    none: 'Nothing is recorded yet.',
    key: (track) => `${track.group} ${nameOf(track)}`,
    columns: [
      {title: 'Track', heads: true, cell: (track) => ({node: h('span', {class: 'name'}, nameOf(track)), update() {}})},
      {title: 'Group', number: true, wide: true, text: (track) => track.group},
      {title: 'Cores', wide: true, text: (track) => format.cores(track.cores) || '–'},
      {title: 'Times', number: true, text: (track) => format.count(track.count)},
      {title: 'Mean', number: true, text: (track) => format.duration(track.sum_ns / Math.max(1, track.count))},
      // Requests wait side by side: their sum is no share of the time.
      {title: 'Busy', number: true, wide: true, text: (track) => (track.what === 'queue' ? '–'
        : format.percent(track.busy_ns / Math.max(1, track.duration_ns)))},
    ],
  });
  let timeline = null;
  let view = [0, 1];
  let end = 1;

  function redraw() {
    field.replaceChildren(draw(timeline, view));
    say(axis.firstElementChild, `${format.duration(view[0]) === '–' ? '0 us' : format.duration(view[0])}`);
    say(axis.lastElementChild, `${format.duration(view[1])}, ${format.duration(view[1] - view[0])} in view`);
  }

  /** By half of what is in view, then wider or closer around its middle. */
  function move(step, zoom) {
    const width = Math.min(end, Math.max(1000, (view[1] - view[0]) * zoom));
    const middle = (view[0] + view[1]) / 2 + step * (view[1] - view[0]) / 2;
    const from = Math.min(Math.max(0, middle - width / 2), end - width);
    view = [from, from + width];
    redraw();
  }

  field.addEventListener('keydown', (event) => {
    const way = {ArrowLeft: 0, ArrowRight: 1, '+': 2, '-': 3}[event.key];
    if (way === undefined) return;
    event.preventDefault();
    move(ways[way][1], ways[way][2]);
  });

  function show(profile) {
    timeline = profile.timeline;
    const {spans, tracks} = timeline;
    shown.hidden = spans.length === 0;
    list.update(tracks.map((track) => ({...track, duration_ns: timeline.duration_ns})));
    if (spans.length === 0) {
      say(status, 'There was no request meanwhile.');
      return;
    }
    end = spans.reduce((last, span) => Math.max(last, span[2] + span[3]), 1000);
    labels.replaceChildren(...tracks.map((track) => h('li', {class: 'clip'}, h('i', {class: `swatch ${hueOf(track.what)}`}),
      nameOf(track))));
    view = [Math.min(spans[Math.max(0, spans.length - kFirstView)][2], end - 1000), end];
    redraw();
    laid.scrollTop = kRow.height * Math.min(...spans.slice(-kFirstView).map(([track]) => track));
    const cut = timeline.num_spans > spans.length ? `, the newest ${format.count(spans.length)} drawn` : '';
    const dropped = timeline.num_dropped > 0
      ? ` ${format.counted(timeline.num_dropped, 'older span')} made room for these; Busy is of the last ${
        format.duration(timeline.duration_ns)}.` : '';
    say(status, `${format.counted(profile.num_requests, 'request')}, ${format.counted(timeline.num_spans, 'span')}${cut}: ` +
      `the last ${format.duration(end)}.${dropped}`);
  }

  async function run() {
    record.disabled = true;
    say(status, 'Recording …');
    try {
      const profile = await askJson(path, {method: 'POST'});
      show(profile);
      onProfile(profile);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      say(status, error.message);
      again.checked = false;
    } finally {
      record.disabled = false;
    }
    if (again.checked && record.isConnected) run();
  }

  record.addEventListener('click', run);
  again.addEventListener('change', () => {
    if (again.checked && !record.disabled) run();
  });
  return {
    node: h('div', {class: 'recorder'}, h('div', {class: 'line-up start'}, record,
      h('label', {class: 'small'}, again, ' Keep recording'), status), shown, list.node),
    show,
  };
}
