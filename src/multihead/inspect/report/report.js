// Optional behaviour: light or dark theme, and the order of the sentences. The page works without it.

const root = document.documentElement;
const dark = () =>
  root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

const theme = document.getElementById("theme");
const label = () => (theme.textContent = dark() ? "Light" : "Dark");
theme.hidden = false;
theme.addEventListener("click", () => {
  root.dataset.theme = dark() ? "light" : "dark";
  label();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
label();

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
