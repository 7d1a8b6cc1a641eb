// The worker of a masked language model: fills a text as it is typed.

let tokenizer = null;
let texts = null;

async function load(code, weights, vocabularies) {
  tokenizer = new Tokenizer(vocabularies.source);
  texts = new MaskedText(await SequenceEngine.load(code, weights, facts), tokenizer, facts);
}

const pieceOf = (id) => tokenizer.pieces[id].replaceAll("▁", " ");

/** Fill a text, or ids of which some were chosen by the reader. */
async function fill({ number, text, ids, hidden }) {
  await turn();
  if (number !== latest) return;
  const begun = performance.now();
  const given = ids ?? texts.encode(text);
  const found = texts.fill(given, hidden);
  const tokens = found.ids.map((id, i) => ({
    id: given[i],
    text: pieceOf(found.filled[i]),
    own: given[i] === facts.mask ? null : pieceOf(given[i]),
    ways: found.predictions[i]?.map((way) => ({ ...way, text: pieceOf(way.id) })) ?? null,
  }));
  const { N, weights, left } = found;
  const milliseconds = performance.now() - begun;
  tell("filled", { number, tokens, N, weights, left, text: tokenizer.decode(found.filled), milliseconds });
}

const passes = ({ ids, place, expected }) => texts.fill(ids, [place]).filled[place] === expected;

answerPage({ load, passes, tasks: { fill } });
