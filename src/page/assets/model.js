// One model: its signature, what it did, where its time goes, and a form to try it.
import {chatForm} from './chat.js';
import {h, say} from './dom.js';
import * as format from './format.js';
import {Refusal, askJson, modelPath} from './daemon.js';
import {describeErrors, describeHealth, facts, memoryOf, panel, pill, stack, stateOf, table, troubles} from './parts.js';
import {graphPart} from './graph.js';
import {plot} from './plot.js';
import {describe} from './tensor.js';
import {timelinePart} from './timeline.js';
import {tryForm} from './try.js';

const kParts = [['queue', 'queue'], ['copies', 'typical'], ['compute', 'rate']];

function signature() {
  return table({
    caption: 'Signature',
    none: 'Neither inputs nor outputs.',
    key: (tensor) => `${tensor.way} ${tensor.name}`,
    columns: [
      {title: 'Tensor', heads: true, text: (tensor) => tensor.name},
      {title: 'Direction', text: (tensor) => tensor.way},
      {title: 'Type and shape', number: true, text: (tensor) => describe(tensor.datatype, tensor.shape)},
    ],
  });
}

/** Mean time of a request in each part, between two states; since the load, where there was no request between. */
function meanTimes(now, before) {
  const numNew = now.total.count - (before?.total.count ?? 0);
  const from = numNew > 0 ? before : undefined;
  const count = (numNew > 0 ? numNew : now.total.count) || 1;
  const mean = (part) => (now[part].sum_ns - (from?.[part].sum_ns ?? 0)) / count;
  return [mean('queue'), mean('copy'), mean('compute')];
}

/** The paths at which the model writes texts; none for other models. */
async function textPaths(name) {
  const {data} = await askJson('/v1/models');
  return data.find((model) => model.id === name)?.endpoints.filter((path) => path.endsWith('/completions')) ?? [];
}

/** `handle`: of the model, which may be gone. */
export function modelView({history, handle}) {
  const title = h('h1', {tabindex: '-1'}, 'Model');
  const state = pill();
  const versions = h('span', {class: 'versions'});
  const about = facts();
  const rate = plot({title: 'Requests per second', format: format.rate,
    lines: [{name: 'requests', kind: 'rate', area: true}]});
  const latency = plot({title: 'Latency', format: format.duration, isLog: true,
    lines: [{name: 'p50', kind: 'typical'}, {name: 'p99', kind: 'worst'}]});
  const waiting = plot({title: 'Requests in its queue', format: format.count, least: 4,
    lines: [{name: 'waiting', kind: 'queue', area: true}]});
  const times = stack((ns, share) => `${format.duration(ns)} (${format.percent(share)})`);
  const total = h('p', {class: 'line-up'}, h('span', {class: 'soft'}, 'Mean of a request'), h('b', {class: 'number'}));
  const tensors = signature();
  const problems = troubles();
  const form = h('div');
  const graph = h('div');
  const timeline = h('div');
  const body = h('div', {class: 'model'},
    h('div', {class: 'plots'}, rate.node, latency.node, waiting.node),
    h('div', {class: 'halves'},
      h('div', {class: 'column'}, panel('Where the time goes', total, times.node), panel('Numbers', about.node),
        panel('Signature', tensors.node), panel('Errors and what to do', problems.node)),
      panel('Try it', form)),
    panel('Graph', graph), panel('Timeline', timeline));
  const gone = h('p', {class: 'empty', hidden: true}, 'The daemon has no such model. ', h('a', {href: '#/'}, 'All models'));
  const node = h('div', {},
    h('nav', {'aria-label': 'Breadcrumb'}, h('a', {href: '#/'}, 'Overview')),
    h('div', {class: 'title'}, title, state.node, versions), gone, body);
  const view = {node, title: 'Model', update};
  let before;
  let asked = false;

  async function load(model) {
    const path = modelPath(model.name, model.version);
    try {
      const found = await askJson(path);
      tensors.update([...found.inputs.map((tensor) => ({...tensor, way: 'input'})),
        ...found.outputs.map((tensor) => ({...tensor, way: 'output'}))]);
      const paths = await textPaths(model.name);
      form.replaceChildren(paths.length > 0 ? chatForm(model.name, paths) : tryForm(model.name, model.version, found));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      form.replaceChildren(h('p', {class: 'soft'}, error.message));
      tensors.node.replaceChildren(h('p', {class: 'soft'}, error.message));
    }
  }

  function showVersions(model, all) {
    const others = all.filter((one) => one.name === model.name && one.model !== model.model);
    versions.replaceChildren(h('span', {class: 'soft'}, `version ${model.version}`),
      ...others.map((one) => h('a', {href: `#/model/${one.model}`}, `version ${one.version}`)));
  }

  function update(all) {
    const model = all.models.find((one) => one.model === handle);
    gone.hidden = model !== undefined;
    body.hidden = model === undefined;
    state.node.hidden = model === undefined;
    if (model === undefined) return;
    if (!asked) {
      asked = true;
      view.title = model.name;
      document.title = `${model.name} – Sluice`;
      say(title, model.name);
      load(model);
      const drawn = graphPart(handle, (profile) => recorder.show(profile));
      const recorder = timelinePart({path: `/page/models/${handle}/profile`, onProfile: drawn.show});
      graph.replaceChildren(drawn.node);
      timeline.replaceChildren(recorder.node);
    }
    state.update(stateOf(model));
    const shape = `${model.version} ${all.models.map((one) => `${one.model} ${one.name} ${one.version}`)}`;
    if (versions.dataset.shape !== shape) {
      versions.dataset.shape = shape;
      showVersions(model, all.models);
    }
    const of = history.of(handle);
    rate.update([of.rate], all.time_s);
    latency.update([of.p50, of.p99], all.time_s);
    waiting.update([of.waiting], all.time_s);
    if (model.total) {
      const parts = meanTimes(model, before);
      const sum = parts.reduce((a, b) => a + b, 0);
      times.update(kParts.map(([name, kind], i) => ({name, kind, size: parts[i]})), sum);
      say(total.lastElementChild, format.duration(sum));
      if (before === undefined || model.total.count > before.total.count) before = model;
    }
    const group = all.groups.find((one) => one.group === model.group);
    about.update([
      ['Requests', format.count(model.num_requests)],
      ['Errors', format.count(model.num_errors)],
      ['Refused', format.count(model.refused)],
      ['Joined with others', format.count(model.joined)],
      ['Waiting', `${format.count(model.waiting)}, at most ${format.count(model.max_waiting)}`],
      ['At a time', format.count(model.depth)],
      ['Queue limit', format.count(model.queue_limit)],
      ['Memory', format.bytes(memoryOf(model))],
      ['Core group', group ? `${group.group} (${format.cores(group.cores)})` : '–'],
      ['p50 since the load', format.duration(model.p50_ns)],
      ['p99 since the load', format.duration(model.p99_ns)],
      ...(model.function ? [
        ['Share, priority', `${model.function.share}, ${model.function.priority}`],
        ['Starts from cold', format.count(model.function.num_starts)],
        ['Last start', format.duration(model.function.last_start_ns)]] : []),
    ]);
    problems.update([...describeHealth(model.name, `model ${handle}`, model), ...describeErrors(model)]);
  }
  return view;
}
