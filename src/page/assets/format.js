// Numbers as `sluice top` writes them; tests/page/words.json holds both to the same examples.

const kNone = '–';
const kGrouped = new Intl.NumberFormat('en');

/** Three digits that mean something. */
function short(value) {
  if (value >= 100) return kGrouped.format(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

export function count(value) {
  return value === undefined ? kNone : kGrouped.format(value);
}

/** "1 core", "2,000 copies": as src/base/text/plural.h. */
export function counted(number, noun) {
  if (number === 1) return `1 ${noun}`;
  const many = /[^aeiou]y$/.test(noun) ? noun.replace(/y$/, 'ies') : `${noun}${/(s|x|ch|sh)$/.test(noun) ? 'es' : 's'}`;
  return `${count(number)} ${many}`;
}

export function rate(perSecond) {
  return perSecond === undefined ? kNone : short(perSecond);
}

/** 0 is no measurement. */
export function duration(ns) {
  if (!ns) return kNone;
  for (const [size, unit] of [[1e9, 's'], [1e6, 'ms'], [1e3, 'us']]) {
    if (ns >= size) return `${short(ns / size)} ${unit}`;
  }
  return `${short(ns)} ns`;
}

export function age(ns) {
  const seconds = Math.floor(ns / 1e9);
  const parts = [[Math.floor(seconds / 86400), 'd'], [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'], [seconds % 60, 's']];
  const first = parts.findIndex(([number]) => number > 0);
  if (first < 0) return '0 s';
  return parts.slice(first, first + 2).map(([number, unit]) => `${number} ${unit}`).join(' ');
}

/** 0 is nothing. */
export function bytes(size) {
  if (!size || size < 0) return kNone;
  let unit = 0;
  let value = size;
  for (; value >= 1024 && unit < 6; unit += 1) value /= 1024;
  return `${value.toFixed(Number.isInteger(value) ? 0 : 1)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'][unit]}`;
}

export function percent(share) {
  return `${Math.round((share ?? 0) * 100)} %`;
}

/** Cores of one device: "0-2,5". */
export function ranges(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const parts = [];
  for (let i = 0; i < sorted.length; i += 1) {
    const first = sorted[i];
    while (sorted[i + 1] === sorted[i] + 1) i += 1;
    parts.push(sorted[i] === first ? `${first}` : `${first}-${sorted[i]}`);
  }
  return parts.join(',');
}

/** "device 0: 0-3, device 1: 0" */
export function cores(list) {
  const byDevice = new Map();
  for (const {device, core} of list ?? []) {
    byDevice.set(device, [...(byDevice.get(device) ?? []), core]);
  }
  return [...byDevice].map(([device, numbers]) => `device ${device}: ${ranges(numbers)}`).join(', ');
}

export function session(id) {
  return id ? `${id}` : kNone;
}

/** Halves go away from 0, as those of `sluice top` do. */
function whole(value) {
  return Math.sign(value) * Math.round(Math.abs(value));
}

/** "71 °C, 85 W, 3 memory errors corrected"; of what the machine tells. */
export function sensors(from) {
  const measured = (value, unit) => (value === undefined ? null : `${whole(value)} ${unit}`);
  const parts = [
    measured(from?.temperature_c, '°C'),
    measured(from?.power_w, 'W'),
    from?.num_corrected_errors > 0 && `${counted(from.num_corrected_errors, 'memory error')} corrected`,
    from?.num_uncorrected_errors > 0 && `${count(from.num_uncorrected_errors)} not corrected`,
    from?.num_throttles > 0 && `slowed down ${counted(from.num_throttles, 'time')}`,
    from?.fault,
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(', ') : kNone;
}

export function clock(timeS) {
  return new Date(timeS * 1000).toLocaleTimeString('en-GB');
}
