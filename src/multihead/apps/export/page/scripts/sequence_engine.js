// A model in WebAssembly that reads all positions at once (native/page_sequence.h): a text, or an image.

class SequenceEngine {
  /** Throws an error whose message names the fault: "unsupported", "damaged". */
  static async load(code, weights, facts) {
    return new SequenceEngine(await instantiated(code), weights, facts);
  }

  constructor(calls, weights, facts) {
    this.calls = calls;
    this.facts = facts;
    const at = placed(calls, weights);
    if (calls.load_sequence_model(at, weights.length) !== 0) throw new Error("damaged");
    const { kind, limit, channels, grid, patch } = facts;
    this.numbers = kind === "image" ? channels * grid * grid * patch * patch : limit;
    this.input = calls.allocate(4 * this.numbers + 64);
  }

  /** Read ids, begin and end symbols included. Returns the weights of every head, (layers, H, N, N). */
  readText(ids) {
    new Int32Array(this.calls.memory.buffer, this.input, ids.length).set(ids);
    this.calls.read_masked(this.input, ids.length);
    return this.weights(ids.length);
  }

  /** Read patches, (P, C * size * size), of pixels from -1 to 1. Returns the weights of every head. */
  readImage(patches) {
    new Float32Array(this.calls.memory.buffer, this.input, patches.length).set(patches);
    this.calls.read_image(this.input);
    return this.weights(this.facts.first + this.facts.grid ** 2);
  }

  weights(N) {
    const count = this.facts.layers[0] * this.facts.heads * N * N;
    const at = this.calls.sequence_attention();
    return { N, weights: new Float32Array(this.calls.memory.buffer, at, count).slice() };
  }

  /** The probabilities of a position's outputs; those that are banned are 0. */
  probabilities(position, outputs, banned = []) {
    const at = this.calls.score_position(position);
    const found = new Float32Array(this.calls.memory.buffer, at, outputs).slice();
    for (const one of banned) found[one] = -Infinity;
    const highest = found.reduce((a, b) => Math.max(a, b), -Infinity);
    if (!Number.isFinite(highest)) throw new Error("not finite");
    let whole = 0;
    for (const logit of found) whole += Math.exp(logit - highest);
    return found.map((logit) => Math.exp(logit - highest) / whole);
  }
}

/** The `count` largest numbers, as {id, share}, the largest first. */
const largest = (numbers, count) =>
  Array.from(numbers.keys())
    .sort((a, b) => numbers[b] - numbers[a] || a - b)
    .slice(0, count)
    .map((id) => ({ id, share: numbers[id] }));
