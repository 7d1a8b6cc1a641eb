// A language model in WebAssembly (native/page_text.h), a token at a time.

const LONGEST_TEXT = 4096; // tokens of a text without a fixed context
const WAYS = 8; // alternatives that are told of a token

class TextEngine {
  /** Throws an error whose message names the fault: "unsupported", "damaged". */
  static async load(code, weights, facts) {
    return new TextEngine(await instantiated(code), weights, facts);
  }

  constructor(calls, weights, facts) {
    this.calls = calls;
    this.facts = facts;
    const at = placed(calls, weights);
    if (calls.load_text_model(at, weights.length) !== 0) throw new Error("damaged");
    this.room = facts.slides ? LONGEST_TEXT : facts.context;
    this.begin();
  }

  begin() {
    this.calls.begin_text(this.room);
    this.ids = []; // since the context began
    this.logits = null;
  }

  /** Read a token. A full context begins anew with its last half, as in Python. Returns the weights of its heads. */
  read(id) {
    if (this.ids.length >= this.room) {
      const kept = this.ids.slice(-Math.max(1, this.room >> 1) + 1);
      this.begin();
      for (const one of kept) this.read(one);
    }
    this.ids.push(id);
    const at = this.calls.step_text(id);
    this.logits = new Float32Array(this.calls.memory.buffer, at, this.facts.vocabulary).slice();
    for (const banned of this.facts.banned) this.logits[banned] = -Infinity;
    if (!this.logits.some(Number.isFinite)) throw new Error("not finite");
    const seen = Math.min(this.ids.length, this.facts.context);
    const count = this.facts.layers[0] * this.facts.heads * seen;
    return {
      seen,
      weights: new Float32Array(this.calls.memory.buffer, this.calls.text_attention(), count).slice(),
    };
  }

  /** The next token and its alternatives; `random` returns numbers from 0 to 1. A temperature of 0: the best. */
  next({ temperature, top_k, top_p }, random) {
    const { logits } = this;
    const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a] || a - b);
    const highest = logits[order[0]];
    let whole = 0;
    for (const logit of logits) whole += Math.exp(logit - highest);
    const share = (id) => Math.exp(logits[id] - highest) / whole;
    let chosen = order[0];
    if (temperature > 0) {
      const few = order.slice(0, top_k || order.length);
      const powers = few.map((id) => Math.exp((logits[id] - highest) / temperature));
      const sum = powers.reduce((a, b) => a + b, 0);
      let count = 0;
      for (let mass = 0; count < few.length && (count === 0 || mass < top_p * sum); count++) mass += powers[count];
      let left = random() * powers.slice(0, count).reduce((a, b) => a + b, 0);
      chosen = few.find((_, i) => i < count && (left -= powers[i]) < 0) ?? few[count - 1];
    }
    return { id: chosen, share: share(chosen), ways: order.slice(0, WAYS).map((id) => ({ id, share: share(id) })) };
  }
}
