// The worker of a language model: writes token by token until it is told to stop.

let engine = null;
let tokenizer = null;

async function load(code, weights, vocabularies) {
  tokenizer = new TextTokenizer(vocabularies.source);
  engine = await TextEngine.load(code, weights, facts);
}

const shown = (id) => (id === facts.end ? "⟨end⟩" : tokenizer.decode([id]));

/** Read the ids, telling each one's weights, then write until the end symbol, `most` tokens, or a newer request. */
async function write({ number, text, ids, most, settings, seed }) {
  const encoded = ids ?? tokenizer.encode(text).filter((id) => id !== tokenizer.unknown);
  const given = encoded.length ? encoded : facts.prompt;
  const left = text ? [...text].length - [...tokenizer.decode(given)].length : 0;
  const random = randomOf(seed);
  engine.begin();
  const begun = performance.now();
  let told = [];
  const flush = () => {
    if (told.length) tell("wrote", { number, tokens: told });
    told = [];
  };
  tell("begun", { number, left: encoded.length ? Math.max(0, left) : 0 });
  let last = performance.now();
  const keep = async (token) => {
    told.push({ ...token, ...engine.read(token.id), text: shown(token.id) });
    if (performance.now() - last < 30) return false;
    last = performance.now();
    flush();
    await turn();
    return number !== latest;
  };
  let next = null;
  for (const id of given) {
    const ways = next ? next.ways : [];
    const share = ways.find((one) => one.id === id)?.share ?? null;
    if (await keep({ id, share, ways: named(ways), given: true })) return;
    next = engine.next({ temperature: 0 }, random);
  }
  for (let count = 0; count < most; count++) {
    next = engine.next(settings, random);
    if (await keep({ id: next.id, share: next.share, ways: named(next.ways), given: false })) return;
    if (next.id === facts.end) break;
  }
  flush();
  tell("done", { number, milliseconds: performance.now() - begun });
}

const named = (ways) => ways.map((one) => ({ ...one, text: shown(one.id) }));

function passes({ source, target }) {
  engine.begin();
  for (const id of source) engine.read(id);
  const found = target.map(() => {
    const { id } = engine.next({ temperature: 0 }, null);
    engine.read(id);
    return id;
  });
  return found.every((id, i) => id === target[i]);
}

answerPage({ load, passes, tasks: { write, stop: () => tell("done", { number: latest, milliseconds: 0 }) } });
