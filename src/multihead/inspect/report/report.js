// Optional behaviour: English or Korean, light or dark theme, and the order of the sentences. The page works without it.

const root = document.documentElement;
const dark = () =>
  root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

let korean = false;
const language = document.getElementById("language");
const label = () => {
  theme.textContent = korean ? (dark() ? "밝게" : "어둡게") : dark() ? "Light" : "Dark";
  language.textContent = korean ? "English" : "한국어";
  language.lang = korean ? "en" : "ko";
};
function speak(chosen) {
  korean = chosen;
  root.lang = korean ? "ko" : "en";
  for (const one of document.querySelectorAll("[data-ko]")) {
    one.dataset.en ??= one.textContent;
    one.textContent = korean ? one.dataset.ko : one.dataset.en;
  }
  for (const one of document.querySelectorAll("[data-ko-label]")) {
    one.dataset.enLabel ??= one.getAttribute("aria-label");
    one.setAttribute("aria-label", korean ? one.dataset.koLabel : one.dataset.enLabel);
  }
  label();
}

const theme = document.getElementById("theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  root.dataset.theme = dark() ? "light" : "dark";
  label();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
language.hidden = false;
language.addEventListener("click", () => speak(!korean));
speak(/^ko\b/.test(navigator.language));

let before;
addEventListener("beforeprint", () => {
  before = root.dataset.theme;
  root.dataset.theme = "light";
});
addEventListener("afterprint", () => {
  if (before) root.dataset.theme = before;
  else delete root.dataset.theme;
});

for (const chooser of document.querySelectorAll("select[data-sorts]")) {
  chooser.closest("[hidden]").hidden = false;
  const list = document.getElementById(chooser.dataset.sorts);
  chooser.addEventListener("change", () => {
    const key = (item) => JSON.parse(item.dataset.keys)[chooser.value];
    list.replaceChildren(...[...list.children].sort((a, b) => key(b) - key(a)));
  });
}
