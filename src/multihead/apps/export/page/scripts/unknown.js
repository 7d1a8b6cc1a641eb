// What stands for unknown tokens of an output: source words, as multihead.tasks.translation.lines.unknown chooses them.

/** The words of a text as they are typed, one for each of its token ids. */
function wordsOfTokens(tokenizer, text) {
  const typed = text.split(/[ ▁]+/).filter(Boolean);
  const found = [];
  tokenizer.encodeWords(text).forEach(({ text: word, ids }, number) => {
    const whole = typed[number] ?? word;
    const parts = ids.length > 1 ? tokenizer.partsOf(word) : [word];
    if (parts.length !== ids.length) return found.push(...ids.map(() => whole)); // of subwords, all are one word
    const groups = [];
    let at = 0;
    parts.forEach((part, i) => {
      if (!i || ids[i] === tokenizer.unknown) groups.push({ start: at, count: 0 });
      at += part.length;
      Object.assign(groups.at(-1), { end: at, count: groups.at(-1).count + 1 });
    });
    const spelt = whole.length === word.length ? whole : word;
    for (const { start, end, count } of groups) found.push(...Array(count).fill(spelt.slice(start, end)));
  });
  return found;
}

/** Mutual information of the rows and columns of a matrix (T, S) whose rows sum to 1, in nats. */
function mutualInformation(matrix, T, S) {
  const plogp = (p) => (p > 0 ? -p * Math.log(p) : 0);
  let rows = 0;
  const mean = new Float64Array(S);
  for (let t = 0; t < T; t++)
    for (let s = 0; s < S; s++) {
      rows += plogp(matrix[t * S + s]);
      mean[s] += matrix[t * S + s] / T;
    }
  return mean.reduce((sum, p) => sum + plogp(p), 0) - rows / T;
}

/** For each unknown token of an output, the source word that it attends to most, in the layer that says most. */
function replacements({ ids, cross, S, T }, { source, target }, text, { layers, heads: H }, skipped) {
  const words = wordsOfTokens(source, text);
  let best = { information: -Infinity };
  for (let layer = 0; layer < layers[1]; layer++) {
    const mean = new Float64Array(T * S);
    for (let h = 0; h < H; h++)
      for (let i = 0; i < T * S; i++) mean[i] += cross[(layer * H + h) * T * S + i] / H;
    const information = mutualInformation(mean, T, S);
    if (information > best.information) best = { information, mean };
  }
  return ids.flatMap((id, t) => {
    if (id !== target.unknown || !words.length) return [];
    const row = best.mean.subarray(t * S + skipped, t * S + skipped + words.length);
    return [words[row.indexOf(Math.max(...row))]];
  });
}
