/* Elements of the page. */

export const at = (id) => document.getElementById(id);

/** An element with these properties and children. */
export function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export const gap = () => make("span", { className: "gap" });

/** A bar of this width in percent. */
export function meter(percent, className = "meter") {
  const level = make("i");
  level.style.width = `${Math.round(percent)}%`;
  return make("span", { className }, level);
}
