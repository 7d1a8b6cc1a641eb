// Step by step tab: softmax(q kᵀ / √d_k) v for one head and one query.

let chosenQuery = null;

/** The numbers of the head that was shown last, or of the nearest head that the page has. */
function numbersOf([kind, layer, head] = lastHead || []) {
  const rank = (one) => [one.kind === kind, one.layer === layer, one.head === head];
  const better = (a, b) => {
    const first = rank(a).findIndex((value, i) => value !== rank(b)[i]);
    return first >= 0 && rank(a)[first];
  };
  return content.numbers.reduce((best, one) => (better(one, best) ? one : best));
}

/** Choices of the kind of attention, the layer and the head, each of those that the page has. */
function numbersChoice(numbers) {
  const { kind, layer } = numbers;
  const distinct = (all, key) => [...new Set(all.map((one) => one[key]))].sort((a, b) => a - b || 0);
  const ofKind = content.numbers.filter((one) => one.kind === kind);
  const ofLayer = ofKind.filter((one) => one.layer === layer);
  const choice = (title, values, value, chosen) =>
    values.length > 1
      ? segments(title, values, value, (to) => {
          lastHead = chosen(to);
          if (typeof to === "string") chosenQuery = null;
          update({});
        })
      : null;
  return [
    choice(
      t`Attention`,
      distinct(content.numbers, "kind").map((one) => [one, t(kindOf(one).short || kindOf(one).name)]),
      kind,
      (to) => [to, layer, numbers.head],
    ),
    choice(t`Layer`, distinct(ofKind, "layer").map((one) => [one, one]), layer, (to) => [kind, to, numbers.head]),
    choice(t`Head`, distinct(ofLayer, "head").map((one) => [one, one]), numbers.head, (to) => [kind, layer, to]),
  ];
}

const steps = {
  id: "steps",
  title: "Step by step",
  available: () => content.numbers.length > 0,
  render(root, room) {
    const numbers = numbersOf();
    const side = sidesOf(numbers.kind, content.hypotheses[0]);
    const d = numbers.d_k;
    const [q, k, v] = [floats(numbers.q), floats(numbers.k), floats(numbers.v)];
    const queries = q.length / d;
    const layer = content.hypotheses[0].layers.find(
      (one) => one.kind === numbers.kind && one.layer === numbers.layer,
    );
    // With a causal mask the last token attends to the most keys.
    chosenQuery = Math.min(chosenQuery ?? (layer?.allowed === "causal" ? queries : 1), queries - 1);
    const worked = evaluate(numbers, { q, k, v }, chosenQuery, layer ? allowedIn(layer) : () => true);
    const keys = side.columns.pieces.slice(0, k.length / d);
    const name = t`${nameOf(numbers.kind)}, layer ${numbers.layer}, head ${numbers.head}`;
    const svg = stepsSvg(
      numbers,
      worked,
      side.rows.pieces[chosenQuery],
      keys,
      Math.max(760, Math.min(room, 1060)),
    );
    const query = h(
      "select",
      {
        id: "query",
        change: (event) => {
          chosenQuery = +event.target.value;
          update({}, "#query");
        },
      },
      side.rows.pieces
        .slice(0, queries)
        .map((token, i) => h("option", { value: i, selected: i === chosenQuery }, `${i + 1}. ${token.text}`)),
    );
    root.append(
      h(
        "p",
        { class: "lead" },
        t`${name}${content.hypotheses.length > 1 ? t`, for the first hypothesis` : ""}: the model's own numbers, in fp32.`,
        content.numbers_left_out
          ? t` ${content.numbers_left_out} other heads are left out to limit the size of this page; the option --full embeds them.`
          : null,
      ),
      h("div", { class: "controls" }, numbersChoice(numbers), h("label", {}, t`Query `, query)),
      figure({
        name: "step-by-step",
        caption: t`Each strip is a vector; blue is positive, orange negative. The score of a key is q·k, ${numbers.scale === 1 ? t`not scaled` : t`divided by √${d} = ${(1 / numbers.scale).toFixed(3)}`}. Softmax turns the scores into weights that sum to 1. The output is the weighted sum of the values.`,
        body: svg,
        svg: () => svg,
        json: () => ({
          what: name,
          query: side.rows.pieces[chosenQuery].text,
          scale: numbers.scale,
          q: [...worked.q],
          output: [...worked.output],
          keys: keys.map((token, j) => ({
            token: token.text,
            k: [...worked.k(j)],
            v: [...worked.v(j)],
            score: worked.scores[j],
            scaled: worked.scaled[j],
            allowed: worked.allowed[j],
            weight: worked.weights[j],
          })),
        }),
        table: () => ({
          caption: t`${name}, query ${side.rows.pieces[chosenQuery].text}`,
          head: [t`key`, "q·k", t`scaled`, t`softmax`],
          rows: keys.map((token, j) => [
            token.text,
            worked.scores[j].toFixed(3),
            worked.scaled[j].toFixed(3),
            worked.allowed[j] ? worked.weights[j].toFixed(4) : t`masked`,
          ]),
        }),
      }),
    );
  },
};

function stepsSvg(numbers, worked, query, keys, width) {
  const tall = 24;
  const top = 92;
  const names = Math.min(130, Math.max(50, ...keys.map((token) => textWidth(token.text, 13)))) + 16;
  const strip = (width - names - 360) / 2;
  const x = {
    k: names,
    score: names + strip + 62,
    scaled: names + strip + 128,
    weight: names + strip + 142,
    v: width - strip - 84 + 78,
  };
  x.v = names + strip + 350;
  const svg = canvasSvg(width, top + keys.length * tall + 60);
  svg.setAttribute("aria-label", t`The numbers for ${query.text}`);
  const strength = (all) => Math.max(1e-6, ...all.map((vector) => Math.max(...vector.map(Math.abs))));
  const vectors = (of) => keys.map((_, j) => of(j));
  const most = { q: strength([worked.q]), k: strength(vectors(worked.k)), v: strength(vectors(worked.v)) };
  const faint = { fill: colour("faint"), "dominant-baseline": "central" };
  const figures = {
    "text-anchor": "end",
    "dominant-baseline": "central",
    style: "font-variant-numeric:tabular-nums",
  };
  svg.append(
    label(fitted(query.text, 14, names - 20), 4, 30, 14, {
      "font-weight": 700,
      fill: colour("choice"),
      "dominant-baseline": "central",
    }),
    ...stripOf(worked.q, x.k, 20, strip, 20, most.q),
    label(t`query q, ${numbers.d_k} numbers`, x.k, 10, 11, faint),
  );
  for (const [text, left, anchor] of [
    [t`key`, 4, "start"],
    [t`keys k`, x.k, "start"],
    ["q·k", x.score, "end"],
    [numbers.scale === 1 ? t`scaled` : `÷ √${numbers.d_k}`, x.scaled, "end"],
    [t`softmax`, x.weight + 12, "start"],
    [t`weight × value v`, x.v, "start"],
  ])
    svg.append(label(text, left, top - 16, 11, { ...faint, "text-anchor": anchor }));
  keys.forEach((token, j) => {
    const y = top + j * tall;
    const middle = y + tall / 2;
    const weight = worked.weights[j];
    svg.append(
      label(fitted(token.text, 13, names - 14), 4, middle, 13, {
        "dominant-baseline": "central",
        fill: worked.allowed[j] ? colour("ink") : colour("faint"),
      }),
      ...stripOf(worked.k(j), x.k, y + 3, strip, tall - 6, most.k),
      label(worked.scores[j].toFixed(2), x.score, middle, 12.5, figures),
      label(worked.scaled[j].toFixed(2), x.scaled, middle, 12.5, figures),
    );
    if (!worked.allowed[j]) {
      svg.append(label(t`masked`, x.weight + 12, middle, 11.5, faint));
      return;
    }
    svg.append(
      s("rect", { x: x.weight + 12, y: y + 5, width: 120, height: tall - 10, rx: 3, fill: colour("soft") }),
      s("rect", {
        x: x.weight + 12,
        y: y + 5,
        width: Math.max(0.5, 120 * weight),
        height: tall - 10,
        rx: 3,
        fill: colour("choice"),
      }),
      label(weight.toFixed(3), x.weight + 178, middle, 12.5, figures),
      s(
        "g",
        { opacity: (0.12 + 0.88 * weight).toFixed(3) },
        stripOf(worked.v(j), x.v, y + 3, strip, tall - 6, most.v),
      ),
    );
  });
  const y = top + keys.length * tall + 14;
  svg.append(
    s("line", { x1: x.v, x2: x.v + strip, y1: y - 6, y2: y - 6, stroke: colour("faint") }),
    label(t`weighted sum: output`, x.v - 12, y + 12, 12.5, {
      "text-anchor": "end",
      "dominant-baseline": "central",
      "font-weight": 600,
      fill: colour("choice"),
    }),
    ...stripOf(worked.output, x.v, y + 2, strip, 20, most.v),
  );
  return svg;
}

function stripOf(vector, x, y, width, height, most) {
  const step = width / vector.length;
  return [...vector].map((value, i) =>
    s(
      "rect",
      {
        x: (x + i * step).toFixed(2),
        y,
        width: (step + 0.15).toFixed(2),
        height,
        fill: signedShade(value / most),
      },
      s("title", {}, `${i}: ${value.toFixed(3)}`),
    ),
  );
}
