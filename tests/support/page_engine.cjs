// Runs the scripts of a page's worker in node: reads a folder, answers its requests as JSON.
const fs = require("fs");
const vm = require("vm");

const folder = process.argv[2];
const { facts, vocabularies, scripts, requests } = JSON.parse(fs.readFileSync(`${folder}/content.json`, "utf8"));
const text = scripts.map((path) => fs.readFileSync(path, "utf8")).join("\n");
vm.runInThisContext(`${text}\nglobalThis.made = { sha256, Tokenizer, Engine, segments };`);
const { sha256, Tokenizer, Engine, segments } = globalThis.made;
const bytes = (name) => new Uint8Array(fs.readFileSync(`${folder}/${name}`));

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

main();
