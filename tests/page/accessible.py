"""What every view must keep so that people with a keyboard, a screen reader or weak eyes can use it."""

from __future__ import annotations

from browser import Browser

#: WCAG 2.2, 1.4.3.
MIN_CONTRAST = 4.5

# A list of [text, contrast] of all texts that stand out too little from the background. The script mixes translucent
# backgrounds from the back.
LOW_CONTRAST = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (front, back) => [0, 1, 2].map((i) => front[i] * front[3] + back[i] * (1 - front[3]));
  const behind = (node) => {
    if (node === null) return [255, 255, 255];
    return over(rgba(getComputedStyle(node).backgroundColor), behind(node.parentElement));
  };
  const light = (color) => color.map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility() || node.closest('.unseen, .skip, noscript, svg')) continue;
    const back = behind(node);
    const pair = [light(over(rgba(getComputedStyle(node).color), back)), light(back)].sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (contrast < LEAST) low.push([walker.currentNode.data.trim(), contrast.toFixed(2)]);
  }
  return low;
})()"""

# What stands in the tree of elements: a language, a title, one main and one h1, no level of headings left out, names
# of pictures and fields, no focus order of its own, headers of tables, no id twice.
FAULTS = """(() => {
  const faults = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const shown = (node) => node.checkVisibility();
  const say = (fault, node) => faults.push(`${fault}: ${node.outerHTML.slice(0, 120)}`);
  if (!document.documentElement.lang) faults.push('the page has no language');
  if (!document.title) faults.push('the page has no title');
  if (all('main').length !== 1) faults.push('there is not one main');
  if (all('h1').length !== 1) faults.push('there is not one h1');
  let level = 1;
  for (const heading of all('h1, h2, h3, h4').filter(shown)) {
    const its = Number(heading.tagName[1]);
    if (its > level + 1) say('a level of headings is left out before', heading);
    level = its;
  }
  for (const picture of all('img')) if (!picture.hasAttribute('alt')) say('no alt', picture);
  for (const drawing of all('svg')) {
    if (!drawing.closest('[aria-hidden=true]') && !drawing.getAttribute('aria-label')) say('no name', drawing);
  }
  for (const one of all('[role=img]')) if (!one.getAttribute('aria-label')) say('no name', one);
  for (const node of all('[tabindex]')) if (node.tabIndex > 0) say('its own focus order', node);
  for (const field of all('input, select, textarea')) {
    if (!field.labels?.length && !field.getAttribute('aria-label')) say('no label', field);
  }
  for (const grid of all('table')) {
    if (!grid.caption) say('no caption', grid);
    if (!grid.querySelector('th[scope=col]')) say('no headers', grid);
  }
  for (const list of all('ul, ol')) {
    if ([...list.children].some((child) => child.tagName !== 'LI')) say('a child that is no item', list);
  }
  const ids = all('[id]').map((node) => node.id);
  for (const id of new Set(ids)) if (ids.filter((one) => one === id).length > 1) faults.push(`id twice: ${id}`);
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`the page is wider than the window: ${innerWidth}`);
  return faults;
})()"""

#: Roles whose nodes must say what they are.
NAMED = {"button", "link", "textbox", "combobox", "checkbox", "radio", "image", "slider", "heading"}

# The element that has the focus, and whether it shows that.
FOCUS = """(() => {
  const node = document.activeElement;
  const style = getComputedStyle(node);
  const box = node.getBoundingClientRect();
  return {what: node.tagName + ' ' + (node.textContent || node.id).trim().slice(0, 40), isBody: node === document.body,
    isSeen: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
    top: Math.round(box.top + scrollY), left: Math.round(box.left)};
})()"""

# What a keyboard must reach, in the order of the page: also what scrolls and has nothing else to reach.
REACHABLE = """(() => {
  const kinds = 'a[href], button, input, select, summary, textarea, [tabindex="0"]';
  const scrolls = (node) => ['overflowX', 'overflowY'].some((name) => /auto|scroll/.test(getComputedStyle(node)[name])) &&
    (node.scrollWidth > node.clientWidth || node.scrollHeight > node.clientHeight);
  return [...document.querySelectorAll('body *')]
    .filter((node) => node.matches(kinds) || (scrolls(node) && node.querySelector(kinds) === null))
    .filter((node) => node.checkVisibility() && !node.disabled && !node.closest('[inert]')).length;
})()"""


def check_names(browser: Browser) -> None:
    nameless = []
    for node in browser.accessibility_tree():
        role = node.get("role", {}).get("value")
        if role in NAMED and not node.get("ignored") and not node.get("name", {}).get("value", "").strip():
            nameless.append((role, node.get("nodeId")))
    assert not nameless, f"without a name for screen readers: {nameless}"


def check_focus(browser: Browser) -> None:
    """Tab goes once through all that can be used, shows where it is, and ends."""
    browser.run("document.activeElement.blur(), scrollTo(0, 0), document.querySelector('.skip').focus()")
    wanted = browser.run(REACHABLE)
    seen = [browser.run(FOCUS)]
    for _ in range(wanted - 1):
        browser.press("Tab")
        at = browser.run(FOCUS)
        assert not at["isBody"], f"Tab left the page after {seen[-1]}; {len(seen)} of {wanted}"
        assert at["isSeen"], f"the focus cannot be seen: {at}"
        seen.append(at)
    browser.press("Tab")
    after = browser.run(FOCUS)
    assert after["isBody"] or after["what"] == seen[0]["what"], f"Tab goes on to {after}"


def check_accessible(browser: Browser) -> None:
    faults = browser.run(FAULTS)
    assert not faults, faults
    low = browser.run(LOW_CONTRAST.replace("LEAST", str(MIN_CONTRAST)))
    assert not low, f"contrast below {MIN_CONTRAST}: {low}"
    check_names(browser)
    check_focus(browser)
