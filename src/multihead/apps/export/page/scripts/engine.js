// The engine in WebAssembly (native/page.cpp): one model, one sentence at a time.

const RUNNING = 0;
const NOT_FINITE = 2;

class Engine {
  /** Throws an error whose message names the fault: "unsupported", "damaged". */
  static async load(code, weights, facts) {
    return new Engine(await instantiated(code), weights, facts);
  }

  constructor(calls, weights, facts) {
    this.calls = calls;
    this.facts = facts;
    const at = placed(calls, weights);
    this.weights = { at, size: weights.length };
    this.ids = { room: 0, at: 0 };
    this.score = calls.allocate(16);
    const banned = this.put(facts.banned);
    if (calls.load_model(at, weights.length, banned, facts.banned.length, facts.end) !== 0)
      throw new Error("damaged");
  }

  // Views are made anew: memory moves when it grows.
  bytes = (at, n) => new Uint8Array(this.calls.memory.buffer, at, n);
  numbers = (at, n) => new Int32Array(this.calls.memory.buffer, at, n);
  floats = (at, n) => new Float32Array(this.calls.memory.buffer, at, n);
  longs = (at, n) => new BigInt64Array(this.calls.memory.buffer, at, n);

  /** Copy ids to memory that the next call reads; return their address. */
  put(ids) {
    if (ids.length > this.ids.room) {
      this.ids.room = 2 * ids.length + 1024;
      this.ids.at = this.calls.allocate(4 * this.ids.room);
    }
    this.numbers(this.ids.at, ids.length).set(ids);
    return this.ids.at;
  }

  /** One pass over the source that was read and a target with its end symbol, every number kept. */
  forwardPass(target) {
    const { source, facts } = this;
    return new ForwardPass(this.packedModel(), source, target, facts.begin);
  }

  /** The matrices as they lie in memory now: they move when it grows. */
  packedModel() {
    return new PackedModel(this.bytes(this.weights.at, this.weights.size), this.facts.scale);
  }

  /** The most tokens of an output, its end symbol not counted, for a source with its end symbol. */
  longest(length) {
    const { max_length, max_extra, limit } = this.facts;
    return Math.min(max_length || length + max_extra, limit);
  }

  /** Read a source, given without its end symbol. */
  read(ids) {
    this.source = [...ids, this.facts.end];
    this.calls.read_source(this.put(this.source), this.source.length);
  }

  /** Search; `pause` is awaited between steps and ends the search by returning true. Null: it was ended. */
  async search({ beam = 1, best = 1, alpha = this.facts.length_penalty }, pause) {
    const longest = this.longest(this.source.length);
    const stop = this.facts.stop_at_first ? 1 : 0;
    this.calls.begin_search(beam, best, alpha, longest, stop, this.facts.begin);
    let state = RUNNING;
    while (state === RUNNING) {
      state = this.calls.advance_search();
      if (state === RUNNING && pause && (await pause())) return null;
    }
    if (state === NOT_FINITE) throw new Error("not finite");
    const found = [];
    const room = this.put(new Array(longest + 2).fill(0));
    while (found.length < best) {
      const length = this.calls.best_hypothesis(room, this.score);
      if (length < 0) break;
      found.push({ ids: Array.from(this.numbers(room, length)).reverse(), score: this.floats(this.score, 1)[0] });
    }
    return found;
  }

  /** Draw an output from the most probable tokens of each position, with probabilities p^(1 / temperature). */
  async sample(temperature, random, pause) {
    const ids = [];
    for (const most = this.longest(this.source.length); ids.length < most; ) {
      if (await pause()) return null;
      const { count, ids: tokens, probabilities } = this.replay(ids, true).alternatives;
      const first = ids.length * count;
      const powers = Array.from(probabilities.subarray(first), (one) => (one / probabilities[first]) ** (1 / temperature));
      let left = random() * powers.reduce((sum, one) => sum + one, 0);
      const drawn = powers.findIndex((one) => (left -= one) < 0);
      const id = tokens[first + Math.max(0, drawn)];
      if (id === this.facts.end) break;
      ids.push(id);
    }
    return [{ ids }];
  }

  /** Go through an output once more, or complete its beginning greedily, and record every head and alternative. */
  replay(ids, complete) {
    const T = this.calls.replay(
      this.put(ids), ids.length, complete ? 1 : 0, this.longest(this.source.length), this.facts.begin,
    );
    if (T < 0) throw new Error("not finite");
    const [encoderLayers, decoderLayers] = this.facts.layers;
    const { heads: H } = this.facts;
    const S = this.source.length;
    const ways = this.calls.alternatives();
    const stride = this.calls.map_stride();
    const cut = (at, width, columns) => {
      const all = this.floats(at, decoderLayers * H * stride * width);
      const made = new Float32Array(decoderLayers * H * T * columns);
      for (let map = 0; map < decoderLayers * H; map++)
        for (let t = 0; t < T; t++) {
          const from = (map * stride + t) * width;
          made.set(all.subarray(from, from + Math.min(columns, width)), (map * T + t) * columns);
        }
      return made;
    };
    const own = this.facts.recurrent ? null : cut(this.calls.own_attention(), stride, T);
    if (own)
      for (let i = 0; i < own.length; i++) if (i % T > Math.floor(i / T) % T) own[i] = 0; // the future
    return {
      ids: Array.from(this.numbers(this.calls.replayed_tokens(), T)),
      probabilities: this.floats(this.calls.replayed_probabilities(), T).slice(),
      alternatives: {
        count: ways,
        ids: Int32Array.from(this.longs(this.calls.alternative_tokens(), T * ways), Number),
        probabilities: this.floats(this.calls.alternative_probabilities(), T * ways).slice(),
      },
      encoder: this.floats(this.calls.source_attention(), encoderLayers * H * S * S).slice(),
      own,
      cross: cut(this.calls.cross_attention(), S, S),
      S,
      T,
    };
  }
}
