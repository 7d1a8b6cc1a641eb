// The worker: translates what was typed last, sentence by sentence, so that typing never waits.

let engine = null;
let tokenizers = null;
let wanted = null; // the newest request to explain a sentence, until it is begun
const END = "⟨/s⟩";
const known = new Map(); // translations by direction, settings and sentence

async function load(code, weights, vocabularies) {
  const source = new Tokenizer(vocabularies.source);
  tokenizers = { source, target: vocabularies.target ? new Tokenizer(vocabularies.target) : source };
  engine = await Engine.load(code, weights, facts);
}

const tagsOf = (direction) => facts.directions[direction]?.tags ?? [];

/** What stands for the unknown tokens of an output of the sentence that the engine has read. */
function unknowns(sentence, tags, ids, seen = null) {
  if (!facts.replace_unknown || !ids.includes(tokenizers.target.unknown)) return [];
  return replacements(seen ?? engine.replay(ids, true), tokenizers, sentence, facts, tags.length);
}

/** The words of an output: text, and the places of its tokens. */
function words(ids, unknown) {
  const found = [];
  tokenizers.target.decodePieces(ids, unknown).forEach((text, at) => {
    if (!found.length || text.startsWith(" ")) found.push({ text: "", from: at, to: at });
    const word = found.at(-1);
    word.text += text;
    word.to = at + 1;
  });
  return found.map((word) => ({ ...word, text: word.text.trimStart() })).filter((word) => word.text);
}

async function translate({ number, text, beam, temperature, seed, direction }) {
  const tags = tagsOf(direction);
  const language = facts.directions[direction]?.source ?? facts.source_language;
  const most = facts.limit - tags.length;
  const parts = segments(text, tokenizers.source, language, most);
  tell("segments", { number, parts });
  for (let index = 0; index < parts.length; index++) {
    const sentence = text.slice(parts[index].start, parts[index].end);
    const key = [direction, beam, temperature, temperature ? seed : 0, sentence].join(" ");
    let found = known.get(key);
    if (!found) {
      await turn();
      if (number !== latest) return;
      const begun = performance.now();
      engine.read([...tags, ...tokenizers.source.encode(sentence)]);
      const outdated = async () => {
        await turn();
        return number !== latest;
      };
      const best = temperature
        ? await engine.sample(temperature, randomOf(seed + index), outdated)
        : await engine.search({ beam }, outdated);
      if (!best) return;
      const { ids } = best[0];
      const unknown = unknowns(sentence, tags, ids);
      const text = tokenizers.target.decode(ids, unknown);
      found = { ids, words: words(ids, unknown), text, milliseconds: performance.now() - begun };
      if (known.size > 2000) known.clear();
      known.set(key, found);
    }
    tell("translated", { number, index, ...found });
    await explainWanted();
  }
  tell("done", { number });
}

/** Everything about one sentence and its output: the pieces, every head's weights, every position's alternatives. */
async function explain({ number, index, sentence, direction, ids, complete, beam, adopted = false }) {
  const tags = tagsOf(direction);
  engine.read([...tags, ...tokenizers.source.encode(sentence)]);
  let others = [];
  if (complete && beam > 1) {
    const found = await engine.search({ beam, best: beam }, async () => {
      await turn();
      return number !== latest;
    });
    if (!found) return;
    others = found.map(({ ids, score }) => {
      return { ids, score, text: tokenizers.target.decode(ids, unknowns(sentence, tags, ids)) };
    });
  }
  const found = engine.replay(ids, complete);
  const { source, target } = tokenizers;

  const label = (tokenizer, id) => (id === facts.end ? END : tokenizer.pieces[id]);
  const written = found.ids.at(-1) === facts.end ? found.ids.slice(0, -1) : found.ids;
  const unknown = unknowns(sentence, tags, written, found);
  const lists = [found.encoder, found.own, found.cross, found.probabilities].filter(Boolean);
  tell(
    "explained",
    {
      number,
      index,
      sentence,
      adopted,
      ...found,
      written,
      text: target.decode(written, unknown),
      words: words(written, unknown),
      source: engine.source.map((id) => label(source, id)),
      target: found.ids.map((id) => label(target, id)),
      read: ["⟨s⟩", ...found.ids.slice(0, -1).map((id) => label(target, id))],
      ways: Array.from(found.alternatives.ids, (id) => label(target, id)),
      others,
    },
    lists.map((list) => list.buffer),
  );
}

async function explainWanted() {
  if (!wanted) return;
  const request = wanted;
  wanted = null;
  if (request.number === latest) await explain(request);
}

let pass = null; // the newest forward pass, and what it was made of

/** The numbers of one step of the computation. */
function work({ number, sentence, direction, ids, place }) {
  const begun = performance.now();
  const read = [...tagsOf(direction), ...tokenizers.source.encode(sentence)];
  const key = JSON.stringify([read, ids]);
  if (pass?.key !== key) {
    engine.read(read);
    pass = { key, forward: engine.forwardPass(ids) };
  }
  pass.forward.model = engine.packedModel();
  const found = pass.forward.work(place);
  const names = found.ids?.map((id) => (id === facts.end ? END : tokenizers.target.pieces[id]));
  const milliseconds = performance.now() - begun;
  tell("worked", { number, sentence, place, names, milliseconds, route: pass.forward.route(place.side), ...found });
}

async function passes({ source, target }) {
  engine.read(source);
  const [{ ids }] = await engine.search({ beam: 1 });
  return ids.length === target.length && ids.every((id, i) => id === target[i]);
}

answerPage({
  load,
  passes,
  tasks: { translate, explain: explainWanted, work },
  arrived: (data) => {
    if (data.type === "explain") wanted = data;
  },
});
