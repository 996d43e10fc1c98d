// What the page asks of its daemon. A token stays in this tab, and goes to this daemon alone.

const kTokenKey = 'sluice.token';

/** An answer that is no success. `status` is HTTP's, 0 for a daemon that does not answer. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function setToken(token) {
  sessionStorage.setItem(kTokenKey, token);
}

/** Throws Refusal. */
export async function ask(path, options = {}) {
  const token = sessionStorage.getItem(kTokenKey);
  const headers = {...options.headers, ...(token ? {Authorization: `Bearer ${token}`} : {})};
  let response;
  try {
    response = await fetch(path, {...options, headers, credentials: 'omit', redirect: 'error'});
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refusal(0, 'the daemon does not answer');
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  const why = body.error?.message ?? body.error; // OpenAI's errors are objects
  throw new Refusal(response.status, why ?? `the daemon answered ${response.status}`);
}

export async function askJson(path, options) {
  return (await ask(path, options)).json();
}

/**
 * The values of a stream of server-sent events, until the daemon ends it or `options.signal` does. EventSource could
 * not send the token.
 */
export async function* follow(path, options) {
  const response = await ask(path, options);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let unread = '';
  for (;;) {
    const {done, value} = await reader.read().catch(() => ({done: true}));
    if (done) return;
    const events = (unread + value).split('\n\n');
    unread = events.pop();
    for (const event of events) {
      if (event === 'data: [DONE]') return; // the end of a text
      if (event.startsWith('data: ')) yield JSON.parse(event.slice(6));
    }
  }
}

/** The path of a model in the Open Inference Protocol. */
export function modelPath(name, version) {
  return `/v2/models/${encodeURIComponent(name)}/versions/${version}`;
}
