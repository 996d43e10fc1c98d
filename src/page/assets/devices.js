// Devices with their cores drawn, each in the colour of its core group and filled as far as the group is busy.
import {h, say, mark, keep} from './dom.js';
import * as format from './format.js';
import {hue, meter, pill, stack, table} from './parts.js';

/** Beyond so many, neighbours share a cell. */
const kMaxCells = 128;

const kMemoryKinds = {constants: 'part-0', packed: 'part-1', arenas: 'part-2', contexts: 'part-2', buffers: 'part-3',
  queues: 'part-4', exchange: 'part-5'};

/** [{group}] by core of the device; undefined: no group has it. */
function owners(device, groups) {
  const all = new Array(device.num_cores).fill(undefined);
  for (const group of groups) {
    for (const core of group.cores) {
      if (core.device === device.device && core.core < all.length) all[core.core] = group;
    }
  }
  return all;
}

function describeCores(device, groups) {
  const texts = groups.filter((group) => group.cores.some((core) => core.device === device.device)).map((group) => {
    const numbers = group.cores.filter((core) => core.device === device.device).map((core) => core.core);
    return `cores ${format.ranges(numbers)}: group ${group.group}, ${format.percent(group.utilisation)} busy`;
  });
  const numFree = device.is_withdrawn ? 0 : device.num_cores - device.num_reserved_cores;
  return [...texts, `${numFree} of ${format.counted(device.num_cores, 'core')} free`].join('; ');
}

function deviceCard(first) {
  const health = pill();
  const cells = h('div', {class: 'cores', role: 'img'});
  const reserved = h('span', {class: 'soft'});
  const busy = h('b', {class: 'number'});
  const memoryText = h('span', {class: 'soft small'});
  const sensors = h('span', {class: 'small'});
  const memory = stack((size) => format.bytes(size));
  const title = h('h3', {}, `Device ${first.device}`, h('span', {class: 'soft'}, ` ${first.kind}`));
  const node = h('li', {class: 'device'}, h('div', {class: 'line-up'}, title, health.node),
    h('p', {class: 'soft small clip', title: first.name}, first.name || first.bus_address || ' '), cells,
    h('p', {class: 'line-up small'}, reserved, h('span', {}, busy, h('span', {class: 'soft'}, ' busy'))), memoryText,
    memory.node,
    h('p', {class: 'soft small'}, 'Sensors ', sensors));
  return {
    node,
    update({device, groups}) {
      health.update(device.health ?? 'healthy');
      const of = owners(device, groups);
      const perCell = Math.ceil(of.length / kMaxCells) || 1;
      const drawn = [];
      for (let i = 0; i < of.length; i += perCell) {
        const group = of.slice(i, i + perCell).find((one) => one !== undefined);
        drawn.push({core: i, group});
      }
      mark(cells, 'data-many', drawn.length > 32);
      keep(cells, drawn, (cell) => cell.core, () => {
        const cell = h('i');
        return {
          node: cell,
          update({group}) {
            mark(cell, 'class', group ? hue(group.group) : 'free');
            cell.style.setProperty('--fill', `${Math.round((group?.utilisation ?? 0) * 100)}%`);
          },
        };
      });
      mark(cells, 'aria-label', describeCores(device, groups));
      say(reserved, `${device.num_reserved_cores} of ${format.counted(device.num_cores, 'core')} reserved`);
      say(busy, format.percent(device.utilisation));
      const limit = device.memory_capacity_bytes > 0 ? ` of ${format.bytes(device.memory_capacity_bytes)}` : '';
      say(sensors, format.sensors(device.sensors));
      say(memoryText, `Memory ${format.bytes(device.memory_used_bytes)}${limit}`);
      memory.update(Object.entries(device.memory_bytes ?? {}).filter(([, size]) => size > 0).map(([name, size], i) =>
        ({name, size, kind: kMemoryKinds[name] ?? `part-${i % 6}`})), device.memory_capacity_bytes);
    },
  };
}

export function devices() {
  const node = h('ul', {class: 'devices'});
  return {
    node,
    update(state) {
      keep(node, state.devices.map((device) => ({device, groups: state.groups})), (one) => one.device.device,
        (one) => deviceCard(one.device));
    },
  };
}

/** The number of its process, or what the process does instead of serving. */
function worker() {
  const number = h('span');
  const state = pill();
  const restarts = h('span');
  return {node: h('span', {}, number, state.node, restarts), update(group) {
    const isProcess = group.isolation === 'process';
    const isReady = isProcess && group.worker_state === 'ready';
    say(number, isProcess ? (isReady ? `${group.worker_process}` : '') : '–');
    state.node.hidden = !isProcess || isReady;
    state.update(isReady ? '' : group.worker_state || '');
    say(restarts, isProcess && group.num_worker_restarts ? `, ${format.counted(group.num_worker_restarts, 'restart')}` : '');
  }};
}

export function groups() {
  return table({
    caption: 'Core groups',
    none: 'No core group: no model is loaded.',
    key: (group) => group.group,
    columns: [
      {title: 'Group', heads: true, cell: (group) => ({
        node: h('span', {}, h('i', {class: `swatch ${hue(group.group)}`}), `${group.group}`), update() {}})},
      {title: 'Cores', number: false, text: (group) => format.cores(group.cores)},
      {title: 'Busy', cell: () => {
        const bar = meter();
        const text = h('span', {class: 'number'});
        return {node: h('span', {class: 'busy'}, bar.node, text), update(group) {
          bar.update(group.utilisation);
          say(text, format.percent(group.utilisation));
        }};
      }},
      {title: 'Active model', cell: () => {
        const name = h('span', {class: 'name'});
        return {node: name, update: (group) => say(name, group.active_model || '–')};
      }},
      {title: 'Models', number: true, wide: true, text: (group) => group.num_models},
      {title: 'Switches', number: true, wide: true, text: (group) => format.count(group.num_switches)},
      {title: 'Memory', number: true, wide: true, text: (group) => format.bytes(group.memory_used_bytes)},
      {title: 'Worker', wide: true, cell: worker},
      {title: 'Session', number: true, wide: true, text: (group) => format.session(group.session)},
    ],
  });
}
