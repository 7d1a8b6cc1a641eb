// Sentences of a text: what is translated at a time.

const MOST_TOKENS = 160; // of a sentence; a longer one is cut between words

/** Parts of a text, each {start, end}, without the white space around them. */
function sentences(text, language) {
  const found = [];
  let start = 0;
  for (const line of text.split("\n")) {
    for (const [from, to] of inLine(line, language)) {
      const part = line.slice(from, to);
      const before = part.length - part.trimStart().length;
      if (part.trim()) found.push({ start: start + from + before, end: start + from + part.trimEnd().length });
    }
    start += line.length + 1;
  }
  return found;
}

function inLine(line, language) {
  if (typeof Intl.Segmenter === "function") {
    const segmenter = new Intl.Segmenter(language || undefined, { granularity: "sentence" });
    const parts = Array.from(segmenter.segment(line), ({ index, segment }) => [index, index + segment.length]);
    return joined(line, parts);
  }
  const ends = Array.from(line.matchAll(/[.!?。！？…]+["'”’»)\]]*\s+/gu), (one) => one.index + one[0].length);
  const bounds = [0, ...ends, line.length];
  return joined(line, bounds.slice(1).map((end, i) => [bounds[i], end]));
}

/** Join a part to the one before it if that ends in an abbreviation or a number: "z. B. ", "am 3. Mai". */
function joined(line, parts) {
  const found = [];
  for (const [from, to] of parts) {
    const last = found.at(-1);
    const goesOn = last && /(?:^|[\s(])(?:\p{L}|\p{Lu}\p{Ll}{0,2}|\d{1,3})\.\s*$/u.test(line.slice(last[0], last[1]));
    if (goesOn) last[1] = to;
    else found.push([from, to]);
  }
  return found;
}

/** Sentences of at most `most` tokens; longer ones are cut between words, and a long word inside. */
function segments(text, tokenizer, language, most) {
  const room = Math.max(1, Math.min(MOST_TOKENS, most));
  return sentences(text, language).flatMap(({ start, end }) => {
    const whole = text.slice(start, end);
    const count = tokenizer.encode(whole).length;
    if (count <= room) return count ? [{ start, end, cut: false }] : [];
    const found = [];
    let from = start;
    let used = 0;
    const close = (to) => {
      if (to > from && used) found.push({ start: from, end: to, cut: true });
    };
    for (const piece of whole.matchAll(/\S{1,80}\s*/gu)) {
      const [at, size] = [start + piece.index, tokenizer.encode(piece[0]).length];
      if (used && used + size > room) {
        close(at);
        from = at;
        used = 0;
      }
      used += size;
    }
    close(end);
    return found.map((one) => ({ ...one, end: one.start + text.slice(one.start, one.end).trimEnd().length }));
  });
}
