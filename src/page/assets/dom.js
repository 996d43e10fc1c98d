// Elements, and lists of them that keep their nodes between two updates, so that focus stays.

const kSvg = 'http://www.w3.org/2000/svg';

function dress(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) {
      node.addEventListener(name.slice(2), value);
    } else {
      node.setAttribute(name, value === true ? '' : value);
    }
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** An element of HTML: h('a', {href: '#/'}, 'text', child). Attributes that are null are left out. */
export function h(tag, attributes, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

/** The same of SVG. */
export function s(tag, attributes, ...children) {
  return dress(document.createElementNS(kSvg, tag), attributes, children);
}

/** Changes a text only if it differs: screen readers and selections stay undisturbed. */
export function say(node, text) {
  if (node.textContent !== String(text)) node.textContent = text;
}

/** The same of an attribute; null removes it. */
export function mark(node, name, value) {
  if (value === null || value === undefined || value === false) {
    node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) {
    node.setAttribute(name, value);
  }
}

/**
 * Makes the children of `parent` those of `items`. `make(item)` gives {node, update}; `update(item)` is called for
 * each, new or kept. Items are the same if their keys are.
 */
export function keep(parent, items, keyOf, make) {
  const old = parent.kept ?? new Map();
  const kept = new Map();
  for (const item of items) {
    const key = keyOf(item);
    const part = old.get(key) ?? make(item);
    kept.set(key, part);
    part.update(item);
  }
  for (const [key, part] of old) {
    if (kept.get(key) !== part) part.node.remove();
  }
  let next = parent.firstElementChild;
  for (const part of kept.values()) {
    if (part.node === next) {
      next = next.nextElementSibling;
    } else {
      parent.insertBefore(part.node, next);
    }
  }
  parent.kept = kept;
}

let numIds = 0;
/** An id that no other element has. */
export function newId(stem) {
  numIds += 1;
  return `${stem}-${numIds}`;
}
