/* Files dropped in or opened: each comes back translated. */
import { upload } from "./api.js";
import { at, gap, make } from "./elements.js";
import { t } from "./texts.js";

/** Let people give files; `languages` returns the chosen ones. */
export function takeDocuments(formats, languages) {
  const [drop, file] = [at("drop"), at("file")];
  at("open").hidden = false;
  file.accept = formats.join(",");
  file.multiple = true;
  at("open").addEventListener("click", () => file.click());
  file.addEventListener("change", () => {
    for (const one of file.files) translate(one, languages());
    file.value = "";
  });
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    drop.hidden = false;
  });
  drop.addEventListener("dragleave", () => { drop.hidden = true; });
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    drop.hidden = true;
    for (const one of event.dataTransfer.files) translate(one, languages());
  });
}

async function translate(file, { source, target }) {
  const state = make("span", { className: "faint" }, t().translating);
  const busy = make("span", { className: "busy" });
  const row = make("div", { className: "document card" }, make("b", {}, file.name), state, gap(), busy);
  at("documents").prepend(row);
  const form = new FormData();
  form.append("file", file);
  form.append("source", source);
  form.append("target", target);
  try {
    const { translatedFileUrl, cautions, review, reviewCount } = await upload("translate_file", form);
    const path = new URL(translatedFileUrl).pathname; // the same server, however it was reached
    state.textContent = (cautions ?? []).join("; ");
    busy.replaceWith(make("a", { className: "plain strong", href: path.slice(1), download: "" }, t().download));
    if (review) row.after(listReview(review, reviewCount));
  } catch (error) {
    state.textContent = error.message;
    busy.remove();
  }
}

function listReview(review, count) {
  const summary = make("summary", {}, t().toReview(count));
  const items = review.map(({ place, reason }) => make("li", {}, `${place}: ${reason}`));
  return make("details", { className: "review card" }, summary, make("ul", {}, ...items));
}
