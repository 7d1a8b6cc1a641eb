// The page as a whole: heading, tabs, and redrawing after a change of state.

const TABS = [
  flow,
  imageOverlay,
  captionOverlay,
  alignment,
  ...headTabs,
  sentence,
  predictions,
  tree,
  embeddings,
  steps,
].filter((tab) => tab.available());
if (!TABS.some((tab) => tab.id === state.tab)) state.tab = (TABS.find((tab) => tab !== flow) || flow).id;

function heading() {
  const language = state.language === "ko" ? "en" : "ko";
  const changeLanguage = () => {
    remember("language", language);
    update({ language }, "#language");
  };
  const changeTheme = () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    update({}, "#theme");
  };
  const chosen = hypothesis();
  const lines = content.heading || [
    [t`source`, content.sentence],
    [chosen.score === null ? t`given translation` : t`translation`, chosen.text || t`(empty)`],
  ];
  return [
    h(
      "div",
      { class: "brand" },
      h("h1", {}, "multihead"),
      h("span", {}, content.run),
      h("span", { class: "gap" }),
      button(state.language === "ko" ? "English" : "한국어", changeLanguage, { id: "language", lang: language }),
      button(isDark() ? t`Light` : t`Dark`, changeTheme, { id: "theme" }),
    ),
    h(
      "dl",
      { class: "pair" },
      lines.map(([name, text]) => [h("dt", {}, t(name)), h("dd", { dir: "auto" }, typeof text === "string" ? text : phrase(text))]),
    ),
    content.omitted.length
      ? h(
          "div",
          { class: "note" },
          t`Omitted to limit the size of this page: ${content.omitted.map(phrase).join("; ")}. The option --full embeds everything.`,
        )
      : null,
    h(
      "div",
      { class: "tabs", role: "tablist", "aria-label": t`Views`, keydown: walk },
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
            click: () => update({ tab: tab.id, stepped: null }, `#tab-${tab.id}`),
          },
          t(tab.title),
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

/** Change the state and redraw. The focus stays on its element, or moves to the one given by a selector. */
function update(changed, focus) {
  const before = document.activeElement;
  const control = before?.closest?.("[data-control]")?.dataset.control;
  Object.assign(state, changed);
  hideTip();
  const strip = document.querySelector(".tabs")?.scrollLeft || 0;
  document.documentElement.lang = state.language;
  document.getElementById("top").replaceChildren(...heading());
  document.querySelector(".tabs").scrollLeft = strip;
  const panel = h("section", { id: "panel", role: "tabpanel", "aria-labelledby": `tab-${state.tab}` });
  const main = document.getElementById("main");
  const room = Math.max(280, main.clientWidth - 38);
  TABS.find((tab) => tab.id === state.tab).render(panel, room);
  panel.prepend(...[backToModel(), explanations(state.tab)].filter(Boolean));
  main.replaceChildren(panel);
  document.getElementById("bottom").replaceChildren(footing());
  if (focus) document.querySelector(focus)?.focus({ preventScroll: true });
  else if (control) {
    const same = [...panel.querySelectorAll("[data-control]")].find((one) => one.dataset.control === control);
    (same?.querySelector("input:checked") || same?.querySelector("input"))?.focus({ preventScroll: true });
  }
}

const footing = () =>
  h(
    "p",
    {},
    h("strong", {}, t(content.caution)),
    t` Weights are recomputed in fp32 from the model's queries and keys and stored with 8-bit precision.`,
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
