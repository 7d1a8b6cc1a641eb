// The search: every step's branches, kept and pruned; the hypotheses found; the decoding, token by token.

let shownPruned = true;
let at = null; // the step that is played; null: the end
let timer = null;

const tree = {
  id: "search",
  title: "Search",
  available: () => content.tree.steps.length > 0,
  render(root, room) {
    const path = pathOf(hypothesis());
    const last = content.tree.steps.length - 1;
    const step = Math.min(at ?? last, last);
    const svg = treeSvg(path, step);
    const attended = at === null ? null : attendedLine(step);
    root.append(
      h(
        "p",
        { class: "lead" },
        `Beam search with ${content.tree.beam_size} hypotheses alive at a time, length penalty ${content.tree.length_penalty}. Choose a hypothesis: all tabs then show its attention.`,
      ),
      h(
        "div",
        { class: "card" },
        h("h2", {}, "Hypotheses, best first"),
        h("ol", { class: "nbest" }, content.hypotheses.map(candidate)),
      ),
      h(
        "div",
        { class: "controls" },
        h(
          "label",
          { class: "switch", "data-control": "Pruned branches" },
          h("input", {
            type: "checkbox",
            role: "switch",
            checked: shownPruned,
            change: (event) => {
              shownPruned = event.target.checked;
              update({});
            },
          }),
          h("i"),
          "Pruned branches",
        ),
      ),
      player(step, last),
      ...(attended ? [attended] : []),
      figure({
        name: "search-tree",
        title: "The beam, step by step",
        caption:
          "A column is a step: what was kept, likeliest on top; below the line the likeliest that were pruned. Percentages are the probability of a token after what stands before it. A ring: the hypothesis ended there. Orange: the chosen one.",
        body: svg,
        svg: () => svg,
        json: () => ({
          ...content.tree,
          hypotheses: content.hypotheses.map(({ text, score, sum, cut }) => ({
            text,
            score,
            log_probability: sum,
            cut,
          })),
        }),
        table: () => ({
          caption: "The beam, step by step",
          head: ["step", "token", "what became of it", "log-probability so far", "goes on from"],
          rows: content.tree.steps.flatMap((branches, i) =>
            branches.map((one) => [
              `${i + 1}`,
              one.text,
              one.fate,
              one.sum.toFixed(2),
              i ? (parentOf(i, one)?.text ?? "") : "the beginning",
            ]),
          ),
        }),
      }),
    );
    const box = svg.parentElement;
    if (at !== null)
      requestAnimationFrame(() => (box.scrollLeft = Math.max(0, (step + 2) * WIDE - box.clientWidth)));
  },
};

function candidate(one, number) {
  const score =
    one.score === null
      ? `log P ${one.sum.toFixed(2)}`
      : `score ${one.score.toFixed(3)} · log P ${one.sum.toFixed(2)}`;
  return h(
    "li",
    {},
    h(
      "button",
      {
        type: "button",
        "data-hypothesis": number,
        "aria-pressed": String(number === state.hypothesis),
        disabled: !one.layers,
        title: one.layers ? null : "Its attention is not in this page; the option --full embeds it",
        click: () => {
          stop();
          at = null;
          update({ hypothesis: number }, `[data-hypothesis="${number}"]`);
        },
      },
      h(
        "small",
        {},
        one.score === null ? "given" : `${number + (content.hypotheses[0].score === null ? 0 : 1)}.`,
      ),
      h("span", { dir: "auto" }, one.text || "(nothing)", one.cut ? " [cut]" : ""),
      h("small", {}, score),
    ),
  );
}

function stop() {
  clearInterval(timer);
  timer = null;
}

function player(step, last) {
  const go = (to) => {
    at = to;
    update({}, "#step");
  };
  return h(
    "div",
    { class: "player" },
    h(
      "button",
      {
        type: "button",
        class: "plain",
        id: "play",
        click: () => {
          if (timer) {
            stop();
            update({}, "#play");
            return;
          }
          at = step >= last ? 0 : step;
          timer = setInterval(() => {
            if (at >= last || state.tab !== "search") {
              stop();
              update({});
            } else {
              at += 1;
              update({}, "#play");
            }
          }, 700);
          update({}, "#play");
        },
      },
      timer ? "Pause" : "Play",
    ),
    h("input", {
      type: "range",
      id: "step",
      min: 0,
      max: last,
      value: step,
      "aria-label": "Step",
      input: (event) => {
        stop();
        go(+event.target.value);
      },
    }),
    h("small", {}, `step ${step + 1} of ${last + 1}`),
  );
}

/** What the token that the chosen hypothesis writes at this step looked at. */
function attendedLine(step) {
  const layer = layersOf("cross").length ? layerOf("cross", state.layer) : null;
  const row = Math.min(step, hypothesis().target.pieces.length - 1);
  if (!layer || row >= layer.queries) return null;
  const weights = combined(layer, headIn(layer), state.combine);
  const token = hypothesis().target.pieces[row];
  return h(
    "div",
    { class: "card" },
    h("h2", {}, "While it writes ", h("bdi", {}, `“${token.text}”`), " it looks at"),
    h(
      "p",
      { class: "running", dir: "auto" },
      content.source.pieces.slice(0, layer.keys).flatMap((one, j) => {
        const span = h("span", { class: "word" }, one.text);
        span.style.background = `color-mix(in srgb, var(--accent) ${Math.round(65 * weights.at(row, j))}%, transparent)`;
        return j && content.source.pieces[j - 1].word === one.word ? [span] : [" ", span];
      }),
    ),
  );
}
