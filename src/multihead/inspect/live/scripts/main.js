// The page: its frame, and what the worker tells it.

const app = document.getElementById("app");
const notices = h("div", { id: "notices", role: "alert" });
const header = h("header", { class: "brand" });
const footer = h("footer", {});
const main = h("main", {}, panes, examples, alternatives, attention, working);

const LOGO = ["M8 8c0 9 8 7 8 16", "M16 8v16", "M24 8c0 9-8 7-8 16"];

function logo() {
  const svg = s("svg", { width: 26, height: 26, viewBox: "0 0 32 32", "aria-hidden": "true", class: "logo" });
  const dots = [8, 16, 24].map((cx) => s("circle", { cx, cy: 8, r: 2.6 }));
  svg.append(s("rect", { width: 32, height: 32, rx: 8 }), ...LOGO.map((d) => s("path", { d })), ...dots, s("circle", { cx: 16, cy: 24, r: 3 }));
  return svg;
}

function paintHeader() {
  header.replaceChildren(
    logo(),
    h("h1", {}, "multihead", h("span", { class: "name" }, view.facts?.name ?? "")),
    h("span", { class: "gap" }),
    h("span", { class: "badge", title: t("offlineHint") }, t("offline")),
    button(t("language"), () => {
      spoken = spoken === "en" ? "ko" : "en";
      remember("language", spoken);
      paintAll();
    }),
    button("◐", switchTheme, { "aria-label": t("theme"), title: t("theme") }),
  );
}

function switchTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  remember("theme", document.documentElement.dataset.theme);
  paintMaps();
}

/** Pages of other models than translators: their panes, and what their workers tell them. */
const KINDS = {
  language: { panes: [writingPanes], start: startWriting, paint: paintWriting, received: WRITING },
  masked: { panes: [fillingPanes, examples], start: startFilling, paint: paintFilling, received: FILLING },
  image: { panes: [imagePanes], start: startImage, paint: paintImage, received: IMAGE, below: [] },
};
const special = () => KINDS[view.facts?.kind] ?? null;
const paintMaps = () => (special() ? special().paint() : paintAttention());

function paintFooter() {
  const { facts, checked } = view;
  if (!facts) return footer.replaceChildren();
  const million = (facts.parameters / 1e6).toLocaleString(spoken, { maximumFractionDigits: 1 });
  const bits = facts.precision === "int8" ? "int8" : "float32";
  return footer.replaceChildren(
    h("p", {}, t("facts", million, special() ? facts.layers[0] : facts.layers.join(" + "), facts.heads, bits), " · ", t("offlineHint")),
    checked ? h("p", { class: checked.same === checked.of ? "good" : "bad", id: "checked" }, t(special() ? "repeated" : "checked", checked.same, checked.of)) : "",
    h("p", {}, h("strong", {}, t("caution")), " ", t(facts.precision === "int8" ? "rounded" : "exact")),
    facts.agreement !== undefined && facts.precision === "int8" ? h("p", { id: "agreement" }, t("agreement", facts.agreement)) : "",
  );
}

function paintNotices() {
  const { fault } = view;
  const texts = {
    altered: () => t("altered", t("blocks")[fault.block] ?? fault.block),
    unsupported: () => t("unsupported"),
    damaged: () => t("damaged"),
    "not finite": () => t("notFinite"),
  };
  const text = fault ? (texts[fault.fault]?.() ?? t("failed", fault.detail || fault.fault)) : "";
  notices.replaceChildren(text ? h("p", { class: "fault" }, text) : "");
}

function paintAll() {
  document.documentElement.lang = spoken;
  paintHeader();
  if (special()) {
    special().paint();
  } else {
    paintHeads();
    paintExamples();
    paintOutput();
    paintFeet();
    paintWords();
    paintAttention();
  }
  paintFooter();
  paintNotices();
}

const RECEIVED = {
  ready({ facts }) {
    view.facts = facts;
    if (special()) {
      main.replaceChildren(...special().panes, ...(special().below ?? [alternatives]), attention);
      special().start();
    }
    paintAll();
    document.documentElement.dataset.ready = "true";
    if (facts.checks.length) setTimeout(() => worker.postMessage({ type: "check" }), 300);
    if (special()) return;
    view.width = facts.beam_size;
    if (!source.value) source.value = requested("text") ?? facts.text ?? "";
    if (source.value) {
      grow();
      textChanged();
    }
  },
  segments(data) {
    if (data.number !== number) return;
    view.parts = data.parts;
    view.outputs = [];
    view.explained = data.parts.length ? view.explained : null;
    view.focus = Math.max(0, Math.min(view.focus, data.parts.length - 1));
    if (!data.parts.length) {
      paintOutput();
      paintFeet();
      paintWords();
      paintAttention();
    }
  },
  translated(data) {
    if (data.number !== number) return;
    view.outputs[data.index] = data;
    paintOutput();
    paintFeet();
    if (data.index === view.focus) explainFocus();
  },
  done(data) {
    if (data.number !== number) return;
    view.done = true;
    paintFeet();
    document.documentElement.dataset.translated = String(data.number);
  },
  explained(data) {
    if (data.number !== number) return;
    if (data.adopted) {
      const [ids, { words, text }] = [data.written, data];
      view.chosen.set(data.sentence, { ids, words, text, milliseconds: 0 });
    }
    if (data.index !== view.focus || data.sentence !== sentenceAt(view.focus)) return;
    view.explained = data;
    if (data.adopted) paintOutput();
    paintWords();
    paintAttention();
    followWork();
    document.documentElement.dataset.explained = String(data.number);
  },
  worked: receiveWork,
  checked({ same, of }) {
    view.checked = { same, of };
    paintFooter();
  },
  fault(data) {
    view.fault = data;
    paintNotices();
    document.documentElement.dataset.fault = data.fault;
  },
};

const theme = remembered("theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paintMaps());
app.replaceChildren(header, notices, main, footer);
paintAll();
grow();
startWorker((data) => (special()?.received[data.type] ?? RECEIVED[data.type])(data));
if (INSTALLABLE && "serviceWorker" in navigator) navigator.serviceWorker.register("service-worker.js");
