// Search tab: hypotheses, kept and pruned branches of every step, and playback of the decoding.

let shownPruned = true;
let at = null; // the step of the playback; null: the end
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
        t`Beam search with beam size ${content.tree.beam_size} and length penalty ${content.tree.length_penalty}. Choose a hypothesis to see its attention in all tabs.`,
      ),
      h(
        "div",
        { class: "card" },
        h("h2", {}, t`Hypotheses, best first`),
        h("ol", { class: "nbest" }, content.hypotheses.map(candidate)),
      ),
      h(
        "div",
        { class: "controls" },
        onOff(t`Pruned branches`, shownPruned, (on) => {
          shownPruned = on;
          update({});
        }),
      ),
      player(step, last),
      ...(attended ? [attended] : []),
      figure({
        name: "search-tree",
        title: t`The beam, step by step`,
        caption:
          t`Each column is a step. Kept branches are above the line and pruned ones below, each in order of probability. A percentage is the probability of the token given those before it. A rounded outline marks the end of a hypothesis, orange the chosen hypothesis.`,
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
          caption: t`The beam, step by step`,
          head: [t`step`, t`token`, t`outcome`, t`cumulative log-probability`, t`previous token`],
          rows: content.tree.steps.flatMap((branches, i) =>
            branches.map((one) => [
              `${i + 1}`,
              one.text,
              t(one.fate),
              one.sum.toFixed(2),
              i ? (parentOf(i, one)?.text ?? "") : t`(start)`,
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

/** The pieces of a hypothesis whose text an earlier one has too; "" for a text of its own. */
function sameText(one, number) {
  const first = content.hypotheses.findIndex((other) => other.text === one.text);
  if (first === number || !one.target) return "";
  const pieces = one.target.pieces.filter((token) => !token.special).map((token) => token.text);
  return t`same text as ${first + (content.hypotheses[0].score === null ? 0 : 1)}, in other pieces: ${pieces.join(" · ")}`;
}

function candidate(one, number) {
  const score =
    one.score === null
      ? `log P ${one.sum.toFixed(2)}`
      : t`score ${one.score.toFixed(3)} · log P ${one.sum.toFixed(2)}`;
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
        title: one.layers ? null : t`This page does not contain its attention; the option --full embeds it`,
        click: () => {
          stop();
          at = null;
          update({ hypothesis: number }, `[data-hypothesis="${number}"]`);
        },
      },
      h(
        "small",
        {},
        one.score === null ? t`given` : `${number + (content.hypotheses[0].score === null ? 0 : 1)}.`,
      ),
      h("span", { dir: "auto" }, one.text || t`(empty)`, one.cut ? t` [truncated]` : "", h("small", {}, sameText(one, number))),
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
  const play = () => {
    if (timer) stop();
    else {
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
    }
    update({}, "#play");
  };
  return h(
    "div",
    { class: "player" },
    button(timer ? t`Pause` : t`Play`, play, { id: "play" }),
    h("input", {
      type: "range",
      id: "step",
      min: 0,
      max: last,
      value: step,
      "aria-label": t`Step`,
      input: (event) => {
        stop();
        go(+event.target.value);
      },
    }),
    h("small", {}, t`step ${step + 1} of ${last + 1}`),
  );
}

/** Attention over the source while the chosen hypothesis generates the token of this step. */
function attendedLine(step) {
  const layer = layersOf("cross").length ? layerOf("cross", state.layer) : null;
  const row = Math.min(step, hypothesis().target.pieces.length - 1);
  if (!layer || row >= layer.queries) return null;
  const weights = combined(layer, headIn(layer), state.combine);
  const token = hypothesis().target.pieces[row];
  return h(
    "div",
    { class: "card" },
    h("h2", {}, t`Attention over the source while generating `, h("bdi", {}, `“${token.text}”`)),
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
