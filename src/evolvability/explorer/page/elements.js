// Parts of a page that are made when they are needed.

// Text is only ever set as text: a run's names cannot become part of the page.
export function element(tag, text, attributes = {}, children = []) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function button(text, action, attributes = {}) {
  const made = element("button", text, attributes);
  made.onclick = action;
  return made;
}
