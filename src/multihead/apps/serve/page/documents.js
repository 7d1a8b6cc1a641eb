/* Files dropped in or opened: each comes back translated. */
import { upload } from "./api.js";
import { t } from "./texts.js";

const at = (id) => document.getElementById(id);

/** Let people give files; `languages` returns the chosen ones. */
export function takeDocuments(formats, languages) {
  const [drop, file] = [at("drop"), at("file")];
  at("open").hidden = false;
  file.accept = formats.join(",");
  file.multiple = true;
  at("open").addEventListener("click", () => file.click());
  file.addEventListener("change", () => {
    translateAll(file.files, languages());
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
    translateAll(event.dataTransfer.files, languages());
  });
}

function translateAll(files, languages) {
  for (const one of files) translate(one, languages);
}

async function translate(file, { source, target }) {
  const row = document.createElement("div");
  row.className = "document card";
  const name = document.createElement("b");
  name.textContent = file.name;
  const state = document.createElement("span");
  state.className = "faint";
  state.textContent = t().translating;
  const busy = document.createElement("span");
  busy.className = "busy";
  const gap = document.createElement("span");
  gap.className = "gap";
  row.append(name, state, gap, busy);
  at("documents").prepend(row);
  const form = new FormData();
  form.append("file", file);
  form.append("source", source);
  form.append("target", target);
  try {
    const { translatedFileUrl, cautions, review, reviewCount } = await upload("translate_file", form);
    const path = new URL(translatedFileUrl).pathname; // the same server, however it was reached
    const link = document.createElement("a");
    link.className = "plain strong";
    link.href = path.slice(1);
    link.download = "";
    link.textContent = t().download;
    state.textContent = (cautions ?? []).join("; ");
    busy.replaceWith(link);
    if (review) row.after(listReview(review, reviewCount));
  } catch (error) {
    state.textContent = error.message;
    busy.remove();
  }
}

function listReview(review, count) {
  const details = document.createElement("details");
  details.className = "review card";
  const summary = Object.assign(document.createElement("summary"), { textContent: t().toReview(count) });
  const list = document.createElement("ul");
  for (const { place, reason } of review) {
    list.append(Object.assign(document.createElement("li"), { textContent: `${place}: ${reason}` }));
  }
  details.append(summary, list);
  return details;
}
