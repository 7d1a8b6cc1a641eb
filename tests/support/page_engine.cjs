// Runs the scripts of a page's worker in node: reads a folder, answers its requests as JSON.
const fs = require("fs");
const vm = require("vm");

const folder = process.argv[2];
const { facts, vocabularies, scripts, requests } = JSON.parse(fs.readFileSync(`${folder}/content.json`, "utf8"));
const text = scripts.map((path) => fs.readFileSync(path, "utf8")).join("\n");
const NAMES = {
  language: "TextTokenizer, TextEngine, randomOf",
  masked: "Tokenizer, SequenceEngine, MaskedText",
  image: "SequenceEngine, fittedImage, patchesOf",
};
const names = NAMES[facts.kind] ?? "Tokenizer, Engine, segments, replacements";
vm.runInThisContext(`${text}\nglobalThis.made = { sha256, ${names} };`);
const { sha256, Tokenizer, Engine, segments, replacements, TextTokenizer, TextEngine, randomOf } = globalThis.made;
const { SequenceEngine, MaskedText, fittedImage, patchesOf } = globalThis.made;
const bytes = (name) => new Uint8Array(fs.readFileSync(`${folder}/${name}`));

async function texts() {
  const tokenizer = new TextTokenizer(vocabularies.source);
  const engine = await TextEngine.load(bytes("engine.wasm"), bytes("weights.bin"), facts);
  const kinds = {
    encode: ({ texts: given }) => given.map((one) => tokenizer.encode(one)),
    decode: ({ rows }) => rows.map((ids) => tokenizer.decode(ids)),
    read({ ids }) {
      engine.begin();
      return ids.map((id) => {
        const { seen, weights } = engine.read(id);
        return { seen, weights: Array.from(weights), logits: Array.from(engine.logits, (x) => (isFinite(x) ? x : null)) };
      });
    },
    write({ ids, count, settings, seed }) {
      engine.begin();
      for (const id of ids) engine.read(id);
      const random = randomOf(seed);
      return Array.from({ length: count }, () => {
        const next = engine.next(settings, random);
        engine.read(next.id);
        return next;
      });
    },
  };
  process.stdout.write(JSON.stringify(requests.map(({ kind, ...request }) => kinds[kind](request))));
}

async function main() {
  const source = new Tokenizer(vocabularies.source);
  const target = vocabularies.target ? new Tokenizer(vocabularies.target) : source;
  let engine = null;
  const loaded = async () => (engine ??= await Engine.load(bytes("engine.wasm"), bytes("weights.bin"), facts));
  const kinds = {
    encode: ({ texts }) => texts.map((one) => source.encode(one)),
    decode: ({ rows }) => rows.map((ids) => target.decode(ids)),
    checksum: ({ texts }) => texts.map((one) => sha256(new Uint8Array(Buffer.from(one, "base64")))),
    segments: ({ texts, language, most }) => texts.map((one) => segments(one, source, language, most)),
    async search({ sources, ...settings }) {
      const found = [];
      for (const ids of sources) {
        (await loaded()).read(ids);
        found.push(await engine.search(settings));
      }
      return found;
    },
    async replay({ source: ids, target: given, complete }) {
      (await loaded()).read(ids);
      const found = engine.replay(given, complete);
      const plain = (list) => list && Array.from(list);
      const { alternatives } = found;
      return {
        ...found,
        probabilities: plain(found.probabilities),
        encoder: plain(found.encoder),
        own: plain(found.own),
        cross: plain(found.cross),
        alternatives: {
          count: alternatives.count,
          ids: plain(alternatives.ids),
          probabilities: plain(alternatives.probabilities),
        },
      };
    },
    async work({ source: ids, target: given, places }) {
      (await loaded()).read(ids);
      const pass = engine.forwardPass(given);
      const plain = (_, value) => (ArrayBuffer.isView(value) ? Array.from(value) : value);
      return places.map((place) => JSON.parse(JSON.stringify({ route: pass.route(place.side), ...pass.work(place) }, plain)));
    },
    async unknown({ text, ids, tags = [] }) {
      (await loaded()).read([...tags, ...source.encode(text)]);
      return replacements(engine.replay(ids, true), { source, target }, text, facts, tags.length);
    },
    async load({ cut }) {
      const weights = bytes("weights.bin").slice(0, cut);
      return Engine.load(bytes("engine.wasm"), weights, facts).then(
        () => "loaded",
        (error) => error.message,
      );
    },
  };
  const answers = [];
  for (const { kind, ...request } of requests) answers.push(await kinds[kind](request));
  process.stdout.write(JSON.stringify(answers));
}

async function sequences() {
  const engine = await SequenceEngine.load(bytes("engine.wasm"), bytes("weights.bin"), facts);
  const plain = ({ weights, ...found }) => ({ ...found, weights: Array.from(weights) });
  const tokenizer = facts.kind === "masked" ? new Tokenizer(vocabularies.source) : null;
  const made = tokenizer && new MaskedText(engine, tokenizer, facts);
  const kinds = {
    encode: ({ texts: given }) => given.map((one) => made.encode(one)),
    fill: ({ ids, hidden }) => plain(made.fill(ids, hidden)),
    shares({ ids }) {
      engine.readText(ids);
      return ids.map((_, i) => Array.from(engine.probabilities(i, facts.vocabulary)));
    },
    fit: ({ file, height, width }) =>
      fittedImage({ data: bytes(file), height, width }, facts.channels, facts.grid * facts.patch).map((one) => Array.from(one)),
    classify({ planes }) {
      const found = engine.readImage(patchesOf(planes, facts.grid, facts.patch));
      return { ...plain(found), shares: Array.from(engine.probabilities(0, facts.classes.length)) };
    },
    load: ({ cut }) =>
      SequenceEngine.load(bytes("engine.wasm"), bytes("weights.bin").slice(0, cut), facts).then(
        () => "loaded",
        (error) => error.message,
      ),
  };
  const answers = [];
  for (const { kind, ...request } of requests) answers.push(await kinds[kind](request));
  process.stdout.write(JSON.stringify(answers));
}

({ language: texts, masked: sequences, image: sequences }[facts.kind] ?? main)();
