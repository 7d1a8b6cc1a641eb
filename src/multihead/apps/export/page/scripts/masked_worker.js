// The worker of a masked language model: fills a text as it is typed.

let tokenizer = null;
let facts = null;
let texts = null;
let latest = 0; // number of the newest request; older ones are given up

async function start({ blocks, checksums }) {
  const begun = performance.now();
  const [code, weights, vocabularies, given] = await Promise.all(
    ["engine", "weights", "vocabularies", "facts"].map((name) => block(blocks, name, checksums)),
  );
  facts = asJson(given);
  tokenizer = new Tokenizer(asJson(vocabularies).source);
  texts = new MaskedText(await SequenceEngine.load(code, weights, facts), tokenizer, facts);
  tell("ready", { facts, milliseconds: performance.now() - begun });
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

async function check() {
  let same = 0;
  for (const { ids, place, expected } of facts.checks) {
    await turn();
    same += texts.fill(ids, [place]).filled[place] === expected ? 1 : 0;
  }
  tell("checked", { same, of: facts.checks.length });
}

const run = inTurn();
const TASKS = { start, fill, check };

self.onmessage = ({ data }) => {
  if (data.number) latest = Math.max(latest, data.number);
  run(() => (data.number && data.number !== latest ? undefined : TASKS[data.type](data)));
};
