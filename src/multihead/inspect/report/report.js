// The page is complete without this: it only chooses light or dark, and the order of the sentences.

const root = document.documentElement;
const dark = () =>
  root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

const theme = document.getElementById("theme");
const name = () => (theme.textContent = dark() ? "Light" : "Dark");
theme.hidden = false;
theme.addEventListener("click", () => {
  root.dataset.theme = dark() ? "light" : "dark";
  name();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
name();

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
