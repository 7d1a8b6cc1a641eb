// Drawing of the beam: one column per step, kept hypotheses above, pruned ones below.

const parentOf = (step, branch) =>
  content.tree.steps[step - 1]?.find((one) => one.fate === "kept" && one.row === branch.parent);

/** The branches of a hypothesis, one per step, as far as the beam contains them. */
function pathOf(chosen) {
  const found = [];
  let row = 0;
  for (const [step, id] of chosen.ids.entries()) {
    const branch = content.tree.steps[step]?.find(
      (one) => one.parent === row && one.id === id && one.fate !== "pruned",
    );
    if (!branch) break;
    found.push(branch);
    row = branch.row;
  }
  return found;
}

const WIDE = 126; // width of a column, and of a node in it
const NODE = 98;
const TALL = 32;

function treeSvg(path, until) {
  const steps = content.tree.steps.slice(0, until + 1);
  const kept = Math.max(
    ...content.tree.steps.map((branches) => branches.filter((one) => one.fate !== "pruned").length),
  );
  const pruned = shownPruned
    ? Math.max(
        ...content.tree.steps.map((branches) => branches.filter((one) => one.fate === "pruned").length),
      )
    : 0;
  const top = 26;
  const line = top + kept * TALL + 6;
  const svg = canvasSvg((content.tree.steps.length + 1) * WIDE, line + (pruned ? pruned * 24 + 22 : 4));
  svg.setAttribute("aria-label", t`The beam, step by step`);
  const coordinates = new Map();
  steps.forEach((branches, step) => {
    let [k, p] = [0, 0];
    for (const one of branches) {
      const dead = one.fate === "pruned";
      const y = dead ? line + 16 + p++ * 24 + 8 : top + k++ * TALL + TALL / 2;
      coordinates.set(one, { x: (step + 1) * WIDE + 4, y });
    }
  });
  const root = { x: 40, y: top + (kept * TALL) / 2 };
  const edges = [];
  const nodes = [
    nodeOf({ text: content.hypotheses[0].read.pieces[0].text, fate: "root" }, { x: 4, y: root.y }, true, ""),
  ];
  steps.forEach((branches, step) => {
    svg.append(
      label(`${step + 1}`, (step + 1) * WIDE + 4 + NODE / 2, 14, 10.5, {
        fill: colour("faint"),
        "text-anchor": "middle",
      }),
    );
    for (const one of branches) {
      const dead = one.fate === "pruned";
      if (dead && !shownPruned) continue;
      const parent = step ? parentOf(step, one) : null;
      const from = step
        ? parent
          ? { x: coordinates.get(parent).x + NODE, y: coordinates.get(parent).y }
          : null
        : { x: 4 + NODE, y: root.y };
      const to = coordinates.get(one);
      const chosen = path[step] === one;
      const share = Math.exp(one.sum - (parent ? parent.sum : 0));
      if (from)
        edges.push([
          chosen,
          s("path", {
            d: `M${from.x} ${from.y}C${from.x + 16} ${from.y} ${to.x - 18} ${to.y} ${to.x} ${to.y}`,
            fill: "none",
            stroke: chosen ? colour("choice") : dead ? colour("rule") : colour("accent"),
            "stroke-width": chosen ? 2.6 : dead ? 0.9 : 1.3,
            "stroke-opacity": chosen || dead ? 1 : 0.55,
            "stroke-dasharray": dead ? "3 3" : null,
          }),
        ]);
      nodes.push(nodeOf(one, to, chosen, `${Math.round(100 * share)}%`));
    }
  });
  edges.sort((a, b) => a[0] - b[0]);
  if (pruned)
    svg.append(
      s("line", { x1: WIDE, x2: "100%", y1: line + 4, y2: line + 4, stroke: colour("rule") }),
      label(t`pruned`, WIDE - 8, line + 24, 10.5, { fill: colour("faint"), "text-anchor": "end" }),
    );
  svg.append(...edges.map((edge) => edge[1]), ...nodes);
  return svg;
}

function nodeOf(branch, { x, y }, chosen, share) {
  const dead = branch.fate === "pruned";
  const ended = branch.fate === "finished" || branch.fate === "cut";
  const size = dead ? 11 : 12.5;
  const tall = dead ? 20 : 25;
  const ink = dead ? colour("faint") : chosen ? colour("choice") : colour("ink");
  const group = s(
    "g",
    { "data-fate": branch.fate },
    s("rect", {
      x,
      y: y - tall / 2,
      width: NODE,
      height: tall,
      rx: ended ? tall / 2 : 6,
      fill: dead ? colour("card") : colour("soft"),
      stroke: chosen ? colour("choice") : ended ? colour("accent") : dead ? colour("rule") : "none",
      "stroke-width": chosen || ended ? 1.8 : 1,
      "stroke-dasharray": dead ? "3 3" : null,
    }),
    label(fitted(branch.text, size, share ? NODE - 38 : NODE - 14), x + 8, y, size, {
      fill: ink,
      "dominant-baseline": "central",
      "font-weight": chosen ? 600 : 400,
    }),
    label(share, x + NODE - 5, y, 9.5, {
      fill: colour("faint"),
      "text-anchor": "end",
      "dominant-baseline": "central",
    }),
  );
  if (branch.sum !== undefined)
    group.append(
      s("title", {}, t`${branch.text}: ${t(branch.fate)}, cumulative log-probability ${branch.sum.toFixed(3)}`),
    );
  return group;
}
