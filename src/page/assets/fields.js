// Parts of forms.
import {h, newId} from './dom.js';

/** A mistake of the form's user; its message says what to change. */
export class Mistake extends Error {}

export function labelled(text, field) {
  const id = newId('field');
  field.id = id;
  return h('div', {class: 'labelled'}, h('label', {for: id}, text), field);
}

export function select(options) {
  return h('select', {}, options.map((option) => h('option', {value: option}, option)));
}

/** The number that was typed; undefined for none. Throws Mistake. */
export function readNumber(name, field, {least, most, isWhole = false}) {
  if (field.value.trim() === '') return undefined;
  const number = Number(field.value);
  if (!(number >= least && number <= most) || (isWhole && !Number.isInteger(number))) {
    throw new Mistake(`${name}: write ${isWhole ? 'a whole number' : 'a number'} from ${least} to ${most}, or nothing.`);
  }
  return number;
}
