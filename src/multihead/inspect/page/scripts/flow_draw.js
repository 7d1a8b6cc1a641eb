// Drawing of the data flow: boxes as wide as their vectors, residual connections, and what the output reads.

const ROLE_SHADES = { attention: 0.55, recurrent: 0.7, convolution: 0.45, "feed-forward": 0.3, output: 0.85 };

function flowSvg(layout, activate) {
  const svg = canvasSvg(layout.width, layout.height);
  svg.setAttribute("aria-label", t`The model as a data flow`);
  svg.setAttribute("role", "group");
  for (const column of layout.columns) {
    const x = column.x + GUTTER + layout.spine / 2;
    svg.append(
      label(columnTitle(column, layout), column.x + 4, column.top + 18, 14, { "font-weight": 600 }),
      s("line", { x1: x, x2: x, y1: column.top + 28, y2: column.bottom + 6, stroke: colour("faint"), "stroke-width": 1.5 }),
      s("path", { d: `M${x - 5} ${column.bottom + 2}l5 7l5 -7z`, fill: colour("faint") }),
      ...ending(column, x),
      ...frames(column),
      ...residuals(column, x),
      ...column.rows.map((row, i) => flowRow(row, widthsOf(column.rows, i), layout, activate)),
    );
  }
  svg.append(...crossings(layout));
  return svg;
}

function columnTitle(column, layout) {
  const [count] = column.rows[0].parts[0].shape;
  if (layout.columns.length === 1) return t`Input: ${counted(count)} ${t(content.kinds[0].unit)}`;
  return column.target ? t`Output: ${counted(count)} tokens` : t`Source: ${counted(count)} tokens`;
}

function ending(column, x) {
  const last = column.rows.at(-1).parts.at(-1);
  if (last.role !== "output") return [];
  const text = t`softmax: a probability for each of ${counted(last.shape.at(-1))}`;
  return [label(fitted(text, 12, column.width - 8), column.x + 4, column.bottom + 26, 12, { fill: colour("faint") })];
}

/** A row: its box, its name and its size; a folded layer is one row. */
function flowRow(row, widths, layout, activate) {
  const [part] = row.parts;
  const x = row.x + GUTTER + layout.spine + 12;
  const room = row.x + row.width - x - 14;
  const { title, size, tip } = rowTexts(row, room);
  const thin = row.parts.length === 1 && part.role === "norm";
  const steps = !row.folded && viewOfPart(part);
  const run = (event) => activate(row, event);
  return s(
    "g",
    {
      class: !row.folded && part.module === chosenPart ? "part chosen" : "part",
      role: "button",
      tabindex: 0,
      "data-part": row.folded ? row.layer : part.module,
      "data-column": +part.target,
      "aria-label": `${title}. ${size}`,
      ...(row.folded ? { "aria-expanded": "false" } : {}),
      click: run,
      keydown: (event) => {
        if (event.key === "Enter" || event.key === " ") run(event);
        else walkParts(event);
      },
      pointermove: (event) => showTip(tip, event.clientX, event.clientY),
      pointerleave: hideTip,
    },
    s("rect", { class: "hit", x: row.x + 2, y: row.y + 1, width: row.width - 4, height: row.height - 2, rx: 7 }),
    box(row, widths, layout, thin),
    label(fitted(title, BOLD, room), x, thin ? row.middle : row.middle - 8, 13.5, {
      "dominant-baseline": "central",
      "font-weight": thin ? 400 : 600,
    }),
    thin
      ? null
      : label(fitted(size, 11.5, room), x, row.middle + 10, 11.5, {
          "dominant-baseline": "central",
          fill: colour("faint"),
        }),
    steps || row.folded
      ? label(row.folded ? "+" : "›", row.x + row.width - 14, row.middle, 16, {
          "dominant-baseline": "central",
          fill: colour("accent"),
          "aria-hidden": true,
        })
      : null,
  );
}

const BOLD = 14.6; // a bold text of 13.5 pixels is as wide as a regular one of this size

function rowTexts(row, room) {
  const [part] = row.parts;
  const parameters = row.parts.reduce((sum, one) => sum + one.parameters, 0);
  if (row.folded) {
    const names = row.parts.filter((one) => one.role !== "norm").map((one) => aboutPart(one)[0]);
    return {
      title: t`Layer ${layerNumber(row.layer)}`,
      size: t`${row.parts.length} parts · ${counted(parameters)} parameters`,
      tip: [...names, t`Click to unfold.`].join("\n"),
    };
  }
  const [name, does] = aboutPart(part);
  const alone = row.layer ? name : fullName(part);
  const whole = `${alone}  ${insideOf(part)}`;
  return {
    title: textWidth(whole, BOLD) < room ? whole : alone,
    size: sizeOf(part),
    tip: [alone, does, part.module, ...part.tensors.map(([tensor, shape]) => `${tensor}  ${shape.join(" × ")}`)].join("\n"),
  };
}

/** Half the width of a box for vectors of this width. */
const halfWidth = (numbers, layout) => Math.max(8, Math.min(1, numbers / layout.widest) * layout.spine) / 2;

/** A box that is as wide as the vectors before, inside and after the part; one too wide is cut off. */
function box(row, widths, layout, thin) {
  const cut = Math.max(...widths) > layout.widest;
  const [before, inner, after] = widths.map((one) => halfWidth(one, layout));
  const x = row.x + GUTTER + layout.spine / 2;
  const half = thin ? 4 : row.folded ? 15 : 13;
  const [top, middle, bottom] = [row.middle - half, row.middle, row.middle + half];
  const bend = inner > Math.max(before, after);
  const points = bend
    ? [[x - before, top], [x + before, top], [x + inner, middle], [x + after, bottom], [x - after, bottom], [x - inner, middle]]
    : [[x - after, top], [x + after, top], [x + after, bottom], [x - after, bottom]];
  const [part] = row.parts;
  const share = row.folded ? 0.42 : ROLE_SHADES[part.role];
  return [
    s("polygon", {
      points: points.map((one) => one.map((value) => value.toFixed(1)).join(",")).join(" "),
      fill: thin ? colour("faint") : share ? shade(share) : colour("soft"),
      stroke: share || thin ? "none" : colour("faint"),
      "stroke-linejoin": "round",
    }),
    ...(cut
      ? [-1, 1].map((side) =>
          s("path", {
            d: `M${x + side * (layout.spine / 2 - 9)} ${top - 3}l${4 * side} ${half * 0.8}l${-4 * side} ${half * 0.8}l${4 * side} ${half * 0.8}`,
            fill: "none",
            stroke: colour("card"),
            "stroke-width": 3,
          }),
        )
      : []),
    row.folded
      ? [-1, 1].map((side) =>
          s("line", { x1: x - after, x2: x + after, y1: row.middle + side * 5, y2: row.middle + side * 5, stroke: colour("card"), "stroke-width": 2 }),
        )
      : [],
  ];
}

/** The frames of unfolded layers, whose titles fold them. */
function frames(column) {
  return column.rows
    .filter((row) => row.opens)
    .flatMap((row) => {
      const last = column.rows.findLast((one) => one.layer === row.layer);
      const fold = (event) => {
        event.preventDefault();
        FOLDED.set(row.layer, true);
        update({}, `[data-part="${row.layer}"]`);
      };
      const title = s(
        "g",
        {
          class: "part",
          ...(row.foldable ? { role: "button", tabindex: 0, "aria-expanded": "true", click: fold } : {}),
          "data-part": row.layer,
          "data-column": +row.parts[0].target,
          "aria-label": t`Layer ${layerNumber(row.layer)}`,
          keydown: (event) => (event.key === "Enter" || event.key === " " ? fold(event) : walkParts(event)),
        },
        s("rect", { class: "hit", x: row.x + 4, y: row.frameTop + 2, width: row.width - 8, height: 22, rx: 6 }),
        label(t`Layer ${layerNumber(row.layer)}` + (row.foldable ? "  –" : ""), row.x + row.width - 14, row.frameTop + 14, 12, {
          "text-anchor": "end",
          "dominant-baseline": "central",
          fill: colour("faint"),
        }),
      );
      return [
        s("rect", {
          x: row.x + 1,
          y: row.frameTop,
          width: row.width - 2,
          height: last.y + last.height + 6 - row.frameTop,
          rx: 10,
          fill: "none",
          stroke: colour("rule"),
        }),
        title,
      ];
    });
}

/** Residual connections: from before a sublayer to the sum after it. */
function residuals(column, x) {
  const left = column.x + 12;
  const paths = [...new Set(column.rows.filter((row) => !row.folded).map((row) => row.parts[0].residual))];
  return paths.filter(Boolean).flatMap((path) => {
    const rows = column.rows.filter((row) => !row.folded && row.parts[0].residual === path);
    const normsLast = rows.length > 1 && rows.at(-1).parts[0].role === "norm";
    const end = normsLast ? rows.at(-1).y : rows.at(-1).y + rows.at(-1).height;
    const [from, to] = [rows[0].y + 1, end - (normsLast ? 0 : 2)];
    const line = { fill: "none", stroke: colour("accent"), "stroke-width": 1.3, opacity: 0.8 };
    return [
      s("path", { d: `M${x} ${from}H${left + 6}q-6 0 -6 6V${to - 6}q0 6 6 6H${x - 7}`, ...line }, s("title", {}, t`residual connection: the input is added to the output`)),
      s("circle", { cx: x, cy: to, r: 6, ...line, fill: colour("card") }),
      s("path", { d: `M${x - 4} ${to}h8M${x} ${to - 4}v8`, ...line }),
    ];
  });
}

/** What parts of the output side read from the source side. */
function crossings(layout) {
  if (layout.columns.length < 2) return [];
  const [source, target] = layout.columns;
  const line = { fill: "none", stroke: colour("choice"), "stroke-width": 1.5 };
  const drawn = new Set();
  return target.rows.flatMap((row) => {
    const read = [...new Set(row.parts.flatMap((part) => part.reads))].map((index) => content.flow.parts[index]);
    const from = source.rows.filter((one) => one.parts.some((part) => read.includes(part)));
    const [, inner, after] = widthsOf(target.rows, target.rows.indexOf(row)).map((one) => halfWidth(one, layout));
    const end = { x: row.x + GUTTER + layout.spine / 2 - Math.max(inner, after) - 2, y: row.middle };
    const head = s("path", { d: `M${end.x - 7} ${end.y - 4}l7 4l-7 4z`, fill: colour("choice") });
    if (from.length && !layout.beside) return [s("path", { d: `M${row.x + 2} ${end.y}H${end.x - 6}`, ...line }), head];
    return from.flatMap((one) => {
      const key = `${one.y}-${row.y}`;
      if (drawn.has(key)) return [];
      drawn.add(key);
      const start = one.x + one.width - 4;
      const middle = (start + row.x) / 2;
      return [
        s("path", { d: `M${start} ${one.middle}C${middle + 26} ${one.middle} ${middle - 26} ${end.y} ${row.x} ${end.y}H${end.x - 6}`, ...line, opacity: 0.75 }),
        head,
      ];
    });
  });
}

/** Move the focus between parts with the arrow keys. */
function walkParts(event) {
  const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!move) return;
  event.preventDefault();
  const place = (part) => [+part.dataset.column, part.getBBox().y];
  const parts = [...event.currentTarget.closest("svg").querySelectorAll(".part[tabindex]")].sort(
    (a, b) => place(a)[0] - place(b)[0] || place(a)[1] - place(b)[1],
  );
  parts[parts.indexOf(event.currentTarget) + move]?.focus();
}
