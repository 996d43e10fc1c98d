// The last minutes of a daemon's numbers, for plots.

/** Seconds that a plot covers. */
export const kWindowS = 120;

/** Values over time, the newest last. A value may be null: there was none. */
export class Series {
  constructor() {
    this.points = [];
  }

  add(timeS, value) {
    this.points.push([timeS, value]);
    while (this.points[0][0] < timeS - kWindowS - 2) this.points.shift();
  }

  get last() {
    return this.points.at(-1)?.[1] ?? null;
  }
}

function empty() {
  return {rate: new Series(), errors: new Series(), p50: new Series(), p99: new Series(), waiting: new Series()};
}

/** Figures of the whole daemon, and of each model by handle. */
export class History {
  constructor() {
    this.all = empty();
    this.models = new Map();
  }

  add(state) {
    const time = state.time_s;
    this.all.rate.add(time, state.requests_per_s);
    this.all.errors.add(time, state.errors_per_s);
    this.all.p50.add(time, state.interval_p50_ns || null);
    this.all.p99.add(time, state.interval_p99_ns || null);
    let waiting = 0;
    for (const model of state.models) {
      const of = this.of(model.model);
      of.rate.add(time, model.requests_per_s);
      of.errors.add(time, model.errors_per_s);
      of.p50.add(time, model.interval_p50_ns || null);
      of.p99.add(time, model.interval_p99_ns || null);
      of.waiting.add(time, model.waiting ?? 0);
      waiting += model.waiting ?? 0;
    }
    this.all.waiting.add(time, waiting);
    const handles = new Set(state.models.map((model) => model.model));
    for (const handle of this.models.keys()) {
      if (!handles.has(handle)) this.models.delete(handle);
    }
  }

  /** Empty for a model that has not been seen yet. */
  of(handle) {
    if (!this.models.has(handle)) this.models.set(handle, empty());
    return this.models.get(handle);
  }
}
