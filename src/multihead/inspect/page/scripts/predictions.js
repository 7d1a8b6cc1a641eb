// Predictions tab: the most probable tokens or classes.

const predictions = {
  id: "predictions",
  title: "Predictions",
  available: () => content.predictions?.length > 0,
  render(root, room) {
    const width = Math.min(room, 640);
    for (const [number, one] of content.predictions.entries()) {
      const svg = predictionSvg(one, width);
      const title = t`Prediction: ${t(one.target)}`;
      root.append(
        figure({
          name: content.predictions.length > 1 ? `predictions-${number + 1}` : "predictions",
          title,
          caption: t`The most probable predictions, with their probabilities.`,
          body: svg,
          svg: () => svg,
          json: () => one,
          table: () => ({
            caption: title,
            head: [t`prediction`, t`probability`],
            rows: one.answers.map(({ text, p }) => [text, p.toFixed(4)]),
          }),
        }),
      );
    }
  },
};

function predictionSvg({ target, answers }, width) {
  const tall = 30;
  const names = Math.min(width / 2, Math.max(60, ...answers.map((one) => textWidth(one.text, 15)))) + 16;
  const room = width - names - 64;
  const svg = canvasSvg(width, answers.length * tall + 8);
  svg.setAttribute("aria-label", `${target}: ${answers.map((one) => one.text).join(", ")}`);
  answers.forEach(({ text, p }, i) => {
    const y = 4 + i * tall;
    const middle = { "dominant-baseline": "central" };
    svg.append(
      label(fitted(text, 15, names - 14), names - 12, y + tall / 2, 15, {
        ...middle,
        "text-anchor": "end",
        "font-weight": i ? 400 : 600,
      }),
      s("rect", { x: names, y: y + 7, width: room, height: tall - 14, rx: 4, fill: colour("soft") }),
      s("rect", {
        x: names,
        y: y + 7,
        width: Math.max(1, room * p).toFixed(1),
        height: tall - 14,
        rx: 4,
        fill: i ? colour("accent") : colour("choice"),
      }),
      label(`${(100 * p).toFixed(1)} %`, names + room + 10, y + tall / 2, 13, {
        ...middle,
        fill: colour("faint"),
      }),
    );
  });
  return svg;
}
