// Formulas are spans and divs of the class arithmatex, whose text stands in \( \) or \[ \].
const render = () => {
  for (const node of document.querySelectorAll(".arithmatex")) {
    const display = node.textContent.startsWith("\\[");
    katex.render(node.textContent.slice(2, -2), node, { displayMode: display, throwOnError: false });
  }
};
document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", render) : render();
