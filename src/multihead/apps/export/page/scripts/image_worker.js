// The worker of an image classifier.

let engine = null;

async function load(code, weights) {
  engine = await SequenceEngine.load(code, weights, facts);
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

function passes({ expected }) {
  const size = facts.grid * facts.patch;
  const planes = Array.from({ length: facts.channels }, (_, channel) =>
    Uint8Array.from({ length: size * size }, (_, i) => ((channel * size * size + i) * 7919) % 256),
  );
  engine.readImage(patchesOf(planes, facts.grid, facts.patch));
  return largest(engine.probabilities(0, facts.classes.length), 1)[0].id === expected;
}

answerPage({ load, passes, tasks: { classify } });
