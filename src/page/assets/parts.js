// Small parts that several views use.
import {h, say, mark, keep} from './dom.js';
import * as format from './format.js';

/** Words of states, and how much they want attention. */
const kKinds = {
  started: 'good', running: 'good', ready: 'good', healthy: 'good', warm: 'good', loaded: 'calm', cold: 'calm',
  stopped: 'calm', draining: 'warn', degraded: 'warn', starting: 'warn', restarting: 'warn', silent: 'warn', locked: 'warn',
  failed: 'bad', lost: 'bad', unloaded: 'calm',
};

/** A state in a word. The colour repeats what the word says. */
export function pill() {
  const node = h('span', {class: 'pill'});
  return {
    node,
    update(word) {
      say(node, word);
      mark(node, 'data-kind', kKinds[word] ?? 'calm');
    },
  };
}

/** The state of a model that matters most: its health, else the function's phase, else its own. */
export function stateOf(model) {
  if (model.health && model.health !== 'healthy') return model.health;
  return model.function?.phase ?? model.phase;
}

/** The class of a group's colour. */
export function hue(group) {
  return `hue-${((group ?? 1) - 1) % 8}`;
}

/** A share as a bar. The number stands beside it. */
export function meter() {
  const fill = h('i');
  const node = h('span', {class: 'meter', 'aria-hidden': 'true'}, fill);
  return {
    node,
    update(share) {
      fill.style.width = `${(100 * Math.min(1, Math.max(0, share ?? 0))).toFixed(1)}%`;
    },
  };
}

/** A bar of several amounts: update([{name, size, kind}], total). Its text is what a screen reader says. */
export function stack(write) {
  const bar = h('span', {class: 'stack', 'aria-hidden': 'true'});
  const legend = h('ul', {class: 'legend'});
  const node = h('div', {}, bar, legend);
  let sum = 1;
  return {
    node,
    update(amounts, total) {
      sum = total || amounts.reduce((all, one) => all + one.size, 0) || 1;
      keep(bar, amounts, (one) => one.name, (one) => {
        const part = h('i', {class: one.kind});
        return {
          node: part,
          update(now) {
            part.style.width = `${(100 * now.size / sum).toFixed(2)}%`;
          },
        };
      });
      keep(legend, amounts, (one) => one.name, (one) => {
        const value = h('b', {class: 'number'});
        return {
          node: h('li', {}, h('i', {class: `swatch ${one.kind}`}), h('span', {class: 'soft'}, one.name), value),
          update(now) {
            say(value, write(now.size, now.size / sum));
          },
        };
      });
    },
  };
}

/**
 * A table whose rows stay. `columns`: [{title, number, wide, cell}] where `cell(item)` gives {node, update(item)}, or
 * `text(item)` the text. `wide` columns are left out on a narrow screen.
 */
export function table({caption, columns, key, none}) {
  const classes = (column) => [column.number ? 'number' : '', column.wide ? 'wide' : ''].join(' ').trim() || null;
  const head = h('tr', {}, columns.map((column) => h('th', {scope: 'col', class: classes(column)}, column.title)));
  const body = h('tbody');
  const empty = h('p', {class: 'empty'}, none);
  const grid = h('table', {}, h('caption', {class: 'unseen'}, caption), h('thead', {}, head), body);
  const node = h('div', {class: 'scroll'}, grid, empty);
  grid.hidden = true; // until there are rows
  function make(item) {
    const parts = columns.map((column) => {
      if (column.cell) return column.cell(item);
      const text = h('span');
      return {node: text, update: (now) => say(text, column.text(now))};
    });
    return {
      node: h('tr', {}, parts.map((part, i) => h(columns[i].heads ? 'th' : 'td',
        {class: classes(columns[i]), scope: columns[i].heads ? 'row' : null}, part.node))),
      update: (now) => parts.forEach((part) => part.update(now)),
    };
  }
  return {
    node,
    update(items) {
      keep(body, items, key, make);
      empty.hidden = items.length > 0;
      grid.hidden = items.length === 0;
    },
  };
}

/** A list of facts: update([[name, text]]). */
export function facts(node = h('dl', {class: 'facts'})) {
  return {
    node,
    update(pairs) {
      keep(node, pairs, ([name]) => name, ([name]) => {
        const value = h('dd', {class: 'number'});
        return {node: h('div', {}, h('dt', {}, name), value), update: ([, text]) => say(value, text)};
      });
    },
  };
}

/** What is wrong, and what to do: update([{key, kind, what, action}]). */
export function troubles() {
  const list = h('ul', {class: 'troubles'});
  const none = h('p', {class: 'empty'}, 'No errors.');
  return {
    node: h('div', {}, list, none),
    update(all) {
      keep(list, all, (one) => one.key, (one) => {
        const what = h('b');
        const action = h('span', {class: 'soft'});
        return {
          node: h('li', {'data-kind': one.kind}, what, action),
          update(now) {
            say(what, now.what);
            say(action, now.action);
          },
        };
      });
      none.hidden = all.length > 0;
    },
  };
}

/** A section with a title. */
export function panel(title, ...children) {
  return h('section', {class: 'panel'}, h('h2', {}, title), children);
}

/** A function holds what it holds now; another model what its load reserved, as in `sluice top`. */
export function memoryOf(model) {
  return model.function ? model.function.held_bytes : model.footprint_bytes;
}

export function describeErrors(model) {
  return (model.errors ?? []).map((error) => ({
    key: `${model.model} ${error.code}`,
    kind: 'warn',
    what: `${model.name}: ${format.count(error.count)} of ${format.counted(model.num_requests, 'answer')}: ${error.code}`,
    action: error.remedy,
  }));
}

/** Describes a worker that died, is silent, or did not start. Its reason may go on behind "; ". */
export function describeWorker(group) {
  if (!group.worker_reason) return [];
  const [cause, ...next] = group.worker_reason.split('; ');
  const isReady = group.worker_state === 'ready';
  const step = next.join('; ') || `it is ${group.worker_state}`;
  return [{key: `worker ${group.group}`, kind: isReady ? 'warn' : 'bad',
    what: cause.startsWith('worker of group ') ? `The ${cause}` : `The worker of group ${group.group}: ${cause}`,
    action: isReady ? `Process ${group.worker_process} has taken its place.` : `${step[0].toUpperCase()}${step.slice(1)}.`}];
}

export function describeHealth(what, key, one) {
  if (!one.health || one.health === 'healthy') return [];
  return [{key: `health ${key}`, kind: one.health === 'failed' ? 'bad' : 'warn',
    what: `${what}: ${one.health_reason}`, action: one.health_action}];
}
