// A talk with a language model. Messages go to the door of OpenAI's API, and the answer comes piece by piece.
import {h, say} from './dom.js';
import {Refusal, follow} from './daemon.js';
import {Mistake, labelled, readNumber, select} from './fields.js';
import * as format from './format.js';

const kWays = {
  'Chat': {
    path: '/v1/chat/completions',
    body: (talk) => ({messages: talk}),
    piece: (choice) => choice.delta.content,
  },
  'A text to go on with': {
    path: '/v1/completions',
    body: (talk) => ({prompt: talk.at(-1).content}),
    piece: (choice) => choice.text,
  },
};
const kMaxTokens = 256;

const body = (value, signal) =>
  ({method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(value), signal});

/** What one answer took: {start, first, tokens}; the last two come later. */
function describe({start, first, tokens}) {
  if (first === undefined) return 'No token came.';
  const seconds = (performance.now() - first) / 1000;
  const begin = `first token after ${format.duration(1e6 * (first - start))}`;
  const speed = tokens > 1 ? `${((tokens - 1) / seconds).toFixed(1)} a second, ` : '';
  return `${format.counted(tokens ?? 0, 'token')}, ${speed}${begin}`;
}

/** The form for a language model. `paths`: of those above, what it takes. */
export function chatForm(name, paths) {
  const list = h('ol');
  const log = h('div', {class: 'talk', role: 'log', 'aria-label': 'The talk', tabindex: '0', hidden: true}, list);
  const way = select(Object.keys(kWays).filter((key) => paths.includes(kWays[key].path)));
  const field = h('textarea', {rows: 3, placeholder: 'Enter sends, Shift and Enter begins a line'});
  const system = h('textarea', {rows: 2});
  const temperature = h('input', {inputmode: 'decimal', autocomplete: 'off', placeholder: 'as the model advises'});
  const maxTokens = h('input', {inputmode: 'numeric', autocomplete: 'off', value: kMaxTokens});
  const send = h('button', {type: 'submit'}, 'Send');
  const stop = h('button', {type: 'button', disabled: true}, 'Stop');
  const clear = h('button', {type: 'button', class: 'quiet'}, 'New talk');
  const status = h('p', {class: 'small', role: 'status'});
  let talk = [];
  let running = null; // the AbortController of the answer that comes

  function add(role, content) {
    const text = h('p', {}, content);
    const entry = h('li', {class: role}, h('span', {class: 'unseen'}, role === 'user' ? 'You:' : `${name}:`), text);
    list.append(entry);
    log.hidden = false;
    log.scrollTop = log.scrollHeight;
    return {entry, text};
  }

  function request() {
    const content = field.value;
    if (content.trim() === '') throw new Mistake('Write a message first.');
    const begin = talk.length === 0 && system.value.trim() !== '' ? [{role: 'system', content: system.value}] : [];
    const next = [...begin, ...talk, {role: 'user', content}];
    return {next, value: {model: name, stream: true, stream_options: {include_usage: true}, ...kWays[way.value].body(next),
      max_tokens: readNumber('Tokens', maxTokens, {least: 1, most: 1e6, isWhole: true}),
      temperature: readNumber('Temperature', temperature, {least: 0, most: 100})}};
  }

  async function take(value, text) {
    const times = {start: performance.now()};
    const {path, piece} = kWays[way.value];
    for await (const chunk of follow(path, body(value, running.signal))) {
      if (chunk.error) throw new Refusal(0, chunk.error.message);
      if (chunk.usage) times.tokens = chunk.usage.completion_tokens;
      const more = chunk.choices[0] ? piece(chunk.choices[0]) : '';
      if (!more) continue;
      times.first ??= performance.now();
      text.append(more);
      log.scrollTop = log.scrollHeight;
    }
    return running.signal.aborted ? 'Stopped.' : describe(times);
  }

  async function answer() {
    status.className = 'small soft';
    const {next, value} = request();
    const before = talk;
    talk = next;
    const asked = add('user', field.value);
    const answered = add('assistant', '');
    field.value = '';
    running = new AbortController();
    send.disabled = true;
    stop.disabled = false;
    say(status, 'Writing …');
    try {
      say(status, await take(value, answered.text));
    } finally {
      running = null;
      send.disabled = false;
      stop.disabled = true;
      const said = answered.text.textContent;
      if (talk === next && said !== '') talk.push({role: 'assistant', content: said});
      if (talk === next && said === '') {
        talk = before;
        answered.entry.remove();
        asked.entry.remove();
        log.hidden = talk.length === 0;
        field.value ||= asked.text.textContent;
      }
    }
  }

  const form = h('form', {class: 'try'}, log, labelled('Send as', way), labelled('Message', field),
    h('div', {class: 'line-up'}, send, stop, clear, status),
    h('details', {}, h('summary', {}, 'Settings'), h('div', {class: 'try'}, labelled('What the model should know first', system),
      labelled('Temperature', temperature), labelled('At most so many tokens', maxTokens))));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (running) return;
    try {
      await answer();
    } catch (error) {
      if (error.name === 'AbortError') return say(status, 'Stopped.');
      if (!(error instanceof Mistake) && !(error instanceof Refusal)) throw error;
      status.className = 'small bad';
      say(status, error.message);
    }
  });
  field.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  stop.addEventListener('click', () => running?.abort());
  clear.addEventListener('click', () => {
    running?.abort();
    talk = [];
    list.replaceChildren();
    log.hidden = true;
    say(status, '');
    field.focus();
  });
  return form;
}
