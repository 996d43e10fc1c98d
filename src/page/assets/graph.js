// The graph of a model drawn in layers: an operation stands below all whose results it reads.
import {h, s, say} from './dom.js';
import * as format from './format.js';
import {Refusal, askJson} from './daemon.js';
import {table} from './parts.js';

const kMaxDrawn = 500;
const kBox = {width: 156, height: 30, gapX: 22, gapY: 22};
const kNumListed = 12;

/** [{layer, column}] by operation. */
function place(operations) {
  const places = [];
  const layers = [];
  for (const operation of operations) {
    const above = operation.inputs.filter((i) => i < places.length);
    const layer = above.reduce((most, i) => Math.max(most, places[i].layer + 1), 0);
    const wish = above.length ? above.reduce((sum, i) => sum + places[i].column, 0) / above.length : 0;
    layers[layer] ??= [];
    // The column nearest to the operations above that is free.
    let column = Math.round(wish);
    for (let step = 1; layers[layer].includes(column); step += 1) {
      column = Math.round(wish) + (step % 2 ? 1 : -1) * Math.ceil(step / 2);
    }
    layers[layer].push(column);
    places.push({layer, column});
  }
  const least = places.reduce((all, one) => Math.min(all, one.column), 0);
  return places.map((one) => ({layer: one.layer, column: one.column - least}));
}

function shorten(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** Nanoseconds by operation, from the times of a profile; undefined where it has none. */
function timesOf(operations, profile) {
  const byName = new Map(profile.operations.map((one) => [one.name, one.sum_ns / Math.max(1, one.count)]));
  const simple = (kind) => kind.split('+')[0].split('::').at(-1);
  return operations.map((one) => {
    const found = [one.name && `${one.kind} ${one.name}`, one.name && `${simple(one.kind)} ${one.name}`]
      .map((name) => byName.get(name)).find((ns) => ns !== undefined);
    if (found !== undefined || !one.name) return found ?? (one.name ? undefined : byName.get(one.kind));
    const end = profile.operations.find((timed) => timed.name.endsWith(` ${one.name}`));
    return end && end.sum_ns / Math.max(1, end.count);
  });
}

function draw(operations, backends, times) {
  const shown = operations.slice(0, kMaxDrawn);
  const places = place(shown);
  const x = (one) => 8 + one.column * (kBox.width + kBox.gapX);
  const y = (one) => 8 + one.layer * (kBox.height + kBox.gapY);
  const width = Math.max(...places.map(x)) + kBox.width + 8;
  const height = Math.max(...places.map(y)) + kBox.height + 8;
  const most = Math.max(1, ...times.filter((ns) => ns !== undefined));
  const edges = shown.flatMap((one, i) => [...new Set(one.inputs)].filter((input) => input < shown.length).map((input) => {
    const from = [x(places[input]) + kBox.width / 2, y(places[input]) + kBox.height];
    const to = [x(places[i]) + kBox.width / 2, y(places[i])];
    const bend = Math.min(60, (to[1] - from[1]) / 2);
    return s('path', {class: 'edge', d: `M${from}C${from[0]} ${from[1] + bend} ${to[0]} ${to[1] - bend} ${to}`});
  }));
  const boxes = shown.map((one, i) => {
    const time = times[i];
    const heat = s('rect', {class: 'heat', width: kBox.width, height: kBox.height, rx: 6,
      'fill-opacity': time === undefined ? 0 : (0.06 + 0.32 * time / most).toFixed(2)});
    return s('g', {transform: `translate(${x(places[i])} ${y(places[i])})`},
      s('title', {}, [one.kind, one.name, one.type, one.backend, time && format.duration(time)].filter(Boolean).join('\n')),
      s('rect', {class: `box part-${Math.max(0, backends.indexOf(one.backend)) % 6}`, width: kBox.width,
        height: kBox.height, rx: 6}), heat,
      s('text', {x: 9, y: 19}, shorten(one.kind, time === undefined ? 22 : 14)),
      time === undefined ? null : s('text', {class: 'time', x: kBox.width - 8, y: 19}, format.duration(time)));
  });
  return s('svg', {class: 'graph', width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true'}, edges, boxes);
}

/**
 * The panel's content for a model. The list says what the drawing shows, for those who do not see it. `onProfile` gets
 * what its button records; show(profile) takes what others recorded.
 */
export function graphPart(handle, onProfile) {
  const about = h('p', {class: 'soft small'}, 'Reading the graph …');
  const drawing = h('div', {class: 'drawing', tabindex: '0', role: 'group', 'aria-label': 'Drawing of the graph'});
  const legend = h('ul', {class: 'legend'});
  const button = h('button', {type: 'button'}, 'Time its operations for 2 s');
  const status = h('p', {class: 'small soft', role: 'status'});
  const list = table({
    caption: 'Operations',
    none: 'The graph has no operation.',
    key: (one) => one.at,
    columns: [
      {title: 'Operation', heads: true, text: (one) => shorten(one.kind, 40)},
      {title: 'Result', wide: true, text: (one) => one.type},
      {title: 'Backend', text: (one) => one.backend || 'executor'},
      {title: 'Time', number: true, text: (one) => format.duration(one.ns)},
    ],
  });
  let graph = null;

  function show(times) {
    const {operations} = graph;
    const backends = [...new Set(operations.map((one) => one.backend))];
    drawing.replaceChildren(draw(operations, backends, times));
    legend.replaceChildren(...backends.map((name, i) =>
      h('li', {}, h('i', {class: `swatch part-${i % 6}`}), name || 'executor')));
    const rows = operations.map((one, at) => ({...one, at, ns: times[at]}));
    const isTimed = times.some((ns) => ns !== undefined);
    if (isTimed) rows.sort((a, b) => (b.ns ?? 0) - (a.ns ?? 0));
    list.update(rows.slice(0, kNumListed));
    const cut = graph.num_operations > kMaxDrawn ? `, the first ${kMaxDrawn} drawn` : '';
    const listed = graph.num_operations > kNumListed
      ? `; the list has the ${isTimed ? 'slowest' : 'first'} ${kNumListed}` : '';
    say(about, `${format.counted(graph.num_operations, 'operation')}${cut}${listed}.`);
  }

  async function load() {
    try {
      graph = await askJson(`/page/models/${handle}/graph`);
      if (graph.operations.length > 0) show([]);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      say(about, error.message);
      for (const part of [drawing, legend, button, list.node]) part.hidden = true;
    }
  }

  button.addEventListener('click', async () => {
    button.disabled = true;
    say(status, 'Recording …');
    try {
      const profile = await askJson(`/page/models/${handle}/profile`, {method: 'POST'});
      showProfile(profile);
      onProfile(profile);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      say(status, error.message);
    } finally {
      button.disabled = false;
    }
  });

  function showProfile(profile) {
    if (!graph?.operations.length) return;
    show(timesOf(graph.operations, profile));
    say(status, profile.operations.length > 0 ? `Means of ${format.counted(profile.num_requests, 'request')}.`
      : profile.num_requests > 0 ? 'Its backend does not time operations.' : 'It had no request meanwhile.');
  }

  load();
  return {
    node: h('div', {class: 'graph-part'}, about, drawing, legend, h('div', {class: 'line-up start'}, button, status), list.node),
    show: showProfile,
  };
}
