// Starts the page: follows the daemon's state, and shows the view that the address names.
import {h, say} from './dom.js';
import * as format from './format.js';
import {Refusal, follow, setToken} from './daemon.js';
import {History} from './history.js';
import {modelView} from './model.js';
import {overview} from './overview.js';
import {facts, pill} from './parts.js';

const main = document.getElementById('main');
const header = {state: pill(), facts: facts(document.getElementById('facts'))};
document.getElementById('state').replaceWith(header.state.node);
header.state.node.id = 'state';
const announce = document.getElementById('announce');

const history = new History();
let state = null;
let view = null;

/** The view of an address; the overview for an unknown one. */
function open(address) {
  const model = /^#\/model\/(\d+)$/.exec(address);
  return model ? modelView({history, handle: Number(model[1])}) : overview({history});
}

function route(moves) {
  view = open(location.hash);
  main.replaceChildren(view.node);
  document.title = `${view.title} – Sluice`;
  if (state) view.update(state);
  if (moves) main.querySelector('h1')?.focus();
}

function show(next) {
  if (state && next.process !== state.process) say(announce, 'The daemon was started again.');
  state = next;
  history.add(state);
  header.state.update(state.is_ready ? state.state : 'draining');
  header.facts.update([
    ['version', state.version],
    ['up', format.age(state.uptime_ns)],
    ['cores free', `${state.num_free_cores} of ${state.num_cores}`],
    ['sessions', format.count(state.sessions.length)],
  ]);
  if (view === null) route(false);
  view.update(state);
}

/** Asks for a token, and resolves when there is one. */
function askForToken(message) {
  return new Promise((resolve) => {
    const field = h('input', {id: 'token', type: 'password', autocomplete: 'off', required: true});
    const form = h('form', {class: 'panel narrow'}, h('h1', {tabindex: '-1'}, 'This daemon needs a token'),
      h('p', {class: 'soft', role: 'alert'}, message), h('label', {for: 'token'}, 'Token'), field,
      h('p', {class: 'soft small'}, 'It stays in this tab, and goes to this daemon alone. Showing the daemon needs the ',
        'role monitor.'),
      h('button', {type: 'submit'}, 'Open'));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      setToken(field.value);
      view = null;
      resolve();
    });
    main.replaceChildren(form);
    field.focus();
  });
}

function lose(error) {
  if (error.status === 401 || error.status === 403) return header.state.update('locked');
  if (header.state.node.textContent !== 'lost') say(announce, `Connection lost: ${error.message}`);
  header.state.update('lost');
  if (view === null) main.replaceChildren(h('p', {class: 'empty', role: 'alert'}, error.message));
  return undefined;
}

const pause = (ms) => new Promise((resolve) => {
  setTimeout(resolve, ms);
});

async function watch() {
  for (;;) {
    try {
      for await (const next of follow('/page/events')) show(next);
      lose(new Refusal(0, 'the daemon ended it'));
      await pause(1000);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      lose(error);
      if (error.status === 401 || error.status === 403) {
        await askForToken(error.message);
      } else {
        await pause(1000);
      }
    }
  }
}

window.addEventListener('hashchange', () => route(true));
watch();
