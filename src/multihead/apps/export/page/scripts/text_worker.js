// The worker of a language model: writes token by token until it is told to stop.

let engine = null;
let tokenizer = null;
let facts = null;
let latest = 0; // number of the newest request; older ones end early

async function start({ blocks, checksums }) {
  const begun = performance.now();
  const [code, weights, vocabularies, given] = await Promise.all(
    ["engine", "weights", "vocabularies", "facts"].map((name) => block(blocks, name, checksums)),
  );
  facts = asJson(given);
  tokenizer = new TextTokenizer(asJson(vocabularies).source);
  engine = await TextEngine.load(code, weights, facts);
  tell("ready", { facts, milliseconds: performance.now() - begun });
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

async function check() {
  let same = 0;
  for (const { source, target } of facts.checks) {
    await turn();
    engine.begin();
    for (const id of source) engine.read(id);
    const found = target.map(() => {
      const { id } = engine.next({ temperature: 0 }, null);
      engine.read(id);
      return id;
    });
    same += found.every((id, i) => id === target[i]) ? 1 : 0;
  }
  tell("checked", { same, of: facts.checks.length });
}

const run = inTurn();
const TASKS = { start, write, check, stop: () => tell("done", { number: latest, milliseconds: 0 }) };

self.onmessage = ({ data }) => {
  if (data.number) latest = Math.max(latest, data.number);
  run(() => (data.number && data.number !== latest ? undefined : TASKS[data.type](data)));
};
