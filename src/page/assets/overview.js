// The whole daemon on one page.
import {h, say} from './dom.js';
import * as format from './format.js';
import {devices, groups} from './devices.js';
import {describeErrors, describeHealth, describeWorker, hue, memoryOf, panel, pill, stack, stateOf, table, troubles} from './parts.js';
import {plot, spark} from './plot.js';
import {timelinePart} from './timeline.js';

function models(history, clock) {
  return table({
    caption: 'Models and functions',
    none: ['No model is loaded. This loads one: ', h('code', {}, 'sluice load model.sluice')],
    key: (model) => model.model,
    columns: [
      {title: 'Model', heads: true, cell: (first) => {
        const link = h('a', {href: `#/model/${first.model}`}, first.name);
        const more = h('span', {class: 'soft'});
        return {node: h('span', {class: 'name'}, link, ' ', more), update(model) {
          const kind = model.function ? 'function' : model.num_graph_nodes ? 'graph' : '';
          say(more, [model.version > 1 ? `version ${model.version}` : '', kind].filter(Boolean).join(', '));
        }};
      }},
      {title: 'State', cell: () => {
        const state = pill();
        return {node: state.node, update: (model) => state.update(stateOf(model))};
      }},
      {title: 'Group', wide: true, cell: () => {
        const swatch = h('i');
        const text = h('span');
        return {node: h('span', {}, swatch, text), update(model) {
          swatch.className = model.group > 0 ? `swatch ${hue(model.group)}` : '';
          say(text, model.group > 0 ? model.group : '–');
        }};
      }},
      {title: 'Requests/s', number: true, cell: () => {
        const line = spark('rate');
        const text = h('span');
        return {node: h('span', {class: 'sparked'}, line.node, text), update(model) {
          line.update(history.of(model.model).rate, clock());
          say(text, format.rate(model.requests_per_s));
        }};
      }},
      {title: 'Errors/s', number: true, wide: true, cell: () => {
        const text = h('span');
        return {node: text, update(model) {
          say(text, format.rate(model.errors_per_s));
          text.className = model.errors_per_s > 0 ? 'bad' : '';
        }};
      }},
      {title: 'p50', number: true, wide: true, text: (model) => format.duration(model.interval_p50_ns)},
      {title: 'p99', number: true, text: (model) => format.duration(model.interval_p99_ns)},
      {title: 'Waiting', number: true, wide: true, text: (model) => format.count(model.waiting)},
      {title: 'Queue p99', number: true, wide: true, text: (model) => format.duration(model.queue?.p99_ns)},
      {title: 'Memory', number: true, wide: true, text: (model) => format.bytes(memoryOf(model))},
      {title: 'Session', number: true, wide: true, text: (model) => format.session(model.session)},
      {title: 'Handle', number: true, wide: true, text: (model) => `0x${model.model.toString(16)}`},
    ],
  });
}

function sessions() {
  return table({
    caption: 'Sessions',
    none: 'No open session.',
    key: (session) => session.session,
    columns: [
      {title: 'Session', heads: true, text: (session) => session.session},
      {title: 'Client', text: (session) => session.client || '–'},
      {title: 'Process', number: true, wide: true, text: (one) => (one.process < 0 ? '–' : one.process)},
      {title: 'User', number: true, wide: true, text: (one) => (one.user < 0 ? '–' : one.user)},
      {title: 'Age', number: true, text: (session) => format.age(session.age_ns)},
      {title: 'Models', number: true, text: (session) => session.num_models},
      {title: 'Cores', number: true, wide: true, text: (session) => session.num_cores},
      {title: 'In flight', number: true, text: (session) => session.num_in_flight},
    ],
  });
}

/** Bytes of models by who loaded them. */
function owners(state) {
  const clients = new Map(state.sessions.map((one) => [one.session, one.client]));
  const sizes = new Map();
  for (const model of state.models) {
    const client = clients.get(model.session);
    const owner = model.session ? `session ${model.session}${client ? ` (${client})` : ''}` : 'no session';
    sizes.set(owner, (sizes.get(owner) ?? 0) + memoryOf(model));
  }
  return [...sizes].map(([name, size], i) => ({name, size, kind: `part-${i % 6}`}));
}

function problems(state) {
  return [
    ...(state.is_ready ? [] : [{key: 'ready', kind: 'warn', what: `The daemon is not ready: ${state.reason}`,
      action: 'Requests to models that are loaded are answered.'}]),
    ...state.devices.flatMap((one) => describeHealth(`Device ${one.device}`, `device ${one.device}`, one)),
    ...state.groups.flatMap(describeWorker),
    ...state.models.flatMap((one) => describeHealth(one.name, `model ${one.model}`, one)),
    ...state.models.flatMap(describeErrors),
  ];
}

export function overview({history}) {
  let timeS = 0;
  const rate = plot({title: 'Requests per second', format: format.rate,
    lines: [{name: 'requests', kind: 'rate', area: true}]});
  const latency = plot({title: 'Latency', format: format.duration, isLog: true,
    lines: [{name: 'p50', kind: 'typical'}, {name: 'p99', kind: 'worst'}]});
  const waiting = plot({title: 'Requests in queues', format: format.count, least: 4,
    lines: [{name: 'waiting', kind: 'queue', area: true}]});
  const parts = {devices: devices(), groups: groups(), models: models(history, () => timeS), sessions: sessions(),
    troubles: troubles()};
  const owned = stack((size) => format.bytes(size));
  const nothing = h('p', {class: 'empty'}, 'No model holds memory.');
  const node = h('div', {class: 'overview'}, h('h1', {class: 'unseen', tabindex: '-1'}, 'Overview'),
    h('div', {class: 'plots'}, rate.node, latency.node, waiting.node),
    panel('Models and functions', parts.models.node),
    panel('Devices', parts.devices.node),
    panel('Core groups', parts.groups.node),
    h('div', {class: 'halves'},
      panel('Errors and what to do', parts.troubles.node),
      panel('Memory by owner', owned.node, nothing)),
    panel('Timeline', timelinePart({path: '/page/profile'}).node),
    panel('Sessions', parts.sessions.node));
  return {
    node,
    title: 'Overview',
    update(state) {
      timeS = state.time_s;
      const {all} = history;
      rate.update([all.rate], timeS);
      latency.update([all.p50, all.p99], timeS);
      waiting.update([all.waiting], timeS);
      parts.models.update(state.models);
      parts.devices.update(state);
      parts.groups.update(state.groups);
      parts.sessions.update(state.sessions);
      parts.troubles.update(problems(state));
      const amounts = owners(state).filter((one) => one.size > 0);
      owned.update(amounts);
      owned.node.hidden = amounts.length === 0;
      nothing.hidden = amounts.length > 0;
    },
  };
}
