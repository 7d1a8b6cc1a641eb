// What the page shows, and its worker.

const view = {
  facts: null,
  fault: null,
  text: "",
  parts: [], // sentences of the text: {start, end, cut}
  outputs: [], // by sentence: {ids, words, text, milliseconds}
  chosen: new Map(), // by sentence: an output that continues from the reader's choice
  done: true,
  focus: 0, // the sentence at the cursor
  word: null, // the chosen word of the focus, by its first token
  piece: 0, // the chosen piece of that word
  explained: null,
  checked: null,
  method: "quick", // quick: greedy; careful: a beam; sample: at a temperature
  width: 4, // hypotheses of the beam
  temperature: 1,
  seed: 1,
  pinned: null, // an explained sentence that is shown beside the newest
  direction: 0,
  kind: requested("kind", ["cross", "encoder", "own"]) ?? "cross",
  heads: {}, // by kind: [layer, head]; head 0: the mean
};

let number = 0;
let worker = null;

const outputOf = (index) => view.chosen.get(sentenceAt(index)) ?? view.outputs[index];
const sentenceAt = (index) =>
  view.parts[index] ? view.text.slice(view.parts[index].start, view.parts[index].end) : "";

function startWorker(received) {
  const read = (name) => document.getElementById(name).textContent;
  let script = new Uint8Array();
  try {
    script = Uint8Array.from(atob(read("worker")), (letter) => letter.charCodeAt(0));
  } catch {
    // Not base64: its checksum is wrong.
  }
  if (sha256(script) !== CHECKSUMS.worker) {
    received({ type: "fault", fault: "altered", block: "worker" });
    return;
  }
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  worker = new Worker(url);
  worker.onmessage = ({ data }) => received(data);
  worker.onerror = (event) => received({ type: "fault", fault: "failed", detail: event.message });
  const names = ["engine", "weights", "vocabularies", "facts"];
  const blocks = Object.fromEntries(names.map((name) => [name, read(name)]));
  worker.postMessage({ type: "start", blocks, checksums: CHECKSUMS });
}

const searchSettings = () => ({
  beam: view.method === "careful" ? view.width : 1,
  temperature: view.method === "sample" ? view.temperature : 0,
  seed: view.seed,
});

/** Ask for the translation of the text; what was asked before is given up. */
function translateText() {
  number++;
  view.done = false;
  worker.postMessage({
    type: "translate",
    number,
    text: view.text,
    direction: view.direction,
    ...searchSettings(),
  });
}

/** Ask for the weights and alternatives of the sentence in focus. */
function explainFocus() {
  const output = outputOf(view.focus);
  if (!output) return;
  explain({ ids: output.ids, complete: true });
}

function explain(request) {
  worker.postMessage({
    type: "explain",
    number,
    index: view.focus,
    sentence: sentenceAt(view.focus),
    direction: view.direction,
    ...searchSettings(),
    ...request,
  });
}
