// The page as a whole: heading, tabs, what is drawn when something changes.

const TABS = [patches, words, alignment, ...headTabs, sentence, guesses, tree, inputs, steps].filter((tab) =>
  tab.available(),
);
if (!TABS.some((tab) => tab.id === state.tab)) state.tab = TABS[0].id;

function heading() {
  const next = isDark() ? "light" : "dark";
  const chosen = hypothesis();
  const lines = content.told || [
    ["reads", content.sentence],
    [chosen.score === null ? "is given" : "writes", chosen.text || "(nothing)"],
  ];
  return [
    h(
      "div",
      { class: "brand" },
      h("b", {}, "multihead"),
      h("span", {}, content.run),
      h("span", { class: "gap" }),
      h(
        "button",
        {
          type: "button",
          class: "plain",
          id: "theme",
          click: () => {
            document.documentElement.dataset.theme = next;
            update({}, "#theme");
          },
        },
        isDark() ? "Light" : "Dark",
      ),
    ),
    h(
      "dl",
      { class: "pair" },
      lines.map(([what, text]) => [h("dt", {}, what), h("dd", { dir: "auto" }, text)]),
    ),
    content.leftOut.length
      ? h(
          "div",
          { class: "note" },
          "Left out of this page: " + content.leftOut.join("; ") + ". The option --full embeds all.",
        )
      : null,
    h(
      "div",
      { class: "tabs", role: "tablist", "aria-label": "Views", keydown: walk },
      TABS.map((tab) =>
        h(
          "button",
          {
            type: "button",
            role: "tab",
            id: `tab-${tab.id}`,
            "aria-controls": "panel",
            "aria-selected": String(tab.id === state.tab),
            tabindex: tab.id === state.tab ? 0 : -1,
            click: () => update({ tab: tab.id }, `#tab-${tab.id}`),
          },
          tab.title,
        ),
      ),
    ),
  ].filter(Boolean);
}

function walk(event) {
  const at = TABS.findIndex((tab) => tab.id === state.tab);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const tab = TABS[(to + TABS.length) % TABS.length];
  update({ tab: tab.id }, `#tab-${tab.id}`);
}

/** Change what is chosen, and draw. The element that had the focus, or the one named, has it again. */
function update(changed, focus) {
  const before = document.activeElement;
  const control = before?.closest?.("[data-control]")?.dataset.control;
  Object.assign(state, changed);
  hideTip();
  const strip = document.querySelector(".tabs")?.scrollLeft || 0;
  document.getElementById("top").replaceChildren(...heading());
  document.querySelector(".tabs").scrollLeft = strip;
  const panel = h("section", { id: "panel", role: "tabpanel", "aria-labelledby": `tab-${state.tab}` });
  const main = document.getElementById("main");
  const room = Math.max(280, main.clientWidth - 38);
  TABS.find((tab) => tab.id === state.tab).render(panel, room);
  main.replaceChildren(panel);
  if (focus) document.querySelector(focus)?.focus({ preventScroll: true });
  else if (control) {
    const same = [...panel.querySelectorAll("[data-control]")].find((one) => one.dataset.control === control);
    (same?.querySelector("input:checked") || same?.querySelector("input"))?.focus({ preventScroll: true });
  }
}

document
  .getElementById("bottom")
  .append(
    h(
      "p",
      {},
      h("strong", {}, content.caution),
      " Weights are recomputed in fp32 from the queries and keys of the model, by the equation, and shown with 8 bits.",
    ),
  );

let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) requestAnimationFrame(() => update({}));
  width = innerWidth;
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => update({}));

let themeBefore;
addEventListener("beforeprint", () => {
  themeBefore = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  update({});
});
addEventListener("afterprint", () => {
  if (themeBefore) document.documentElement.dataset.theme = themeBefore;
  else delete document.documentElement.dataset.theme;
  update({});
});

update({});
