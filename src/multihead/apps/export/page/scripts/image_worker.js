// The worker of an image classifier.

let engine = null;
let facts = null;
let latest = 0; // number of the newest image; older ones are given up

async function start({ blocks, checksums }) {
  const begun = performance.now();
  const [code, weights, , given] = await Promise.all(
    ["engine", "weights", "vocabularies", "facts"].map((name) => block(blocks, name, checksums)),
  );
  facts = asJson(given);
  engine = await SequenceEngine.load(code, weights, facts);
  tell("ready", { facts, milliseconds: performance.now() - begun });
}

/** Classify an image given as RGBA, and record every head. */
async function classify({ number, image }) {
  await turn();
  if (number !== latest) return;
  const begun = performance.now();
  const { channels, grid, patch, classes } = facts;
  const planes = fittedImage(image, channels, grid * patch);
  const { N, weights } = engine.readImage(patchesOf(planes, grid, patch));
  const shares = largest(engine.probabilities(0, classes.length), classes.length);
  tell("classified", { number, planes, shares, N, weights, milliseconds: performance.now() - begun });
}

async function check() {
  let same = 0;
  for (const { expected } of facts.checks) {
    await turn();
    const size = facts.grid * facts.patch;
    const planes = Array.from({ length: facts.channels }, (_, channel) =>
      Uint8Array.from({ length: size * size }, (_, i) => ((channel * size * size + i) * 7919) % 256),
    );
    engine.readImage(patchesOf(planes, facts.grid, facts.patch));
    same += largest(engine.probabilities(0, facts.classes.length), 1)[0].id === expected ? 1 : 0;
  }
  tell("checked", { same, of: facts.checks.length });
}

const run = inTurn();
const TASKS = { start, classify, check };

self.onmessage = ({ data }) => {
  if (data.number) latest = Math.max(latest, data.number);
  run(() => (data.number && data.number !== latest ? undefined : TASKS[data.type](data)));
};
