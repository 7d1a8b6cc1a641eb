// A translator's forward pass in JavaScript, every number kept: what the page shows step by step.
//
// It reads the weights that the engine reads (native/page_model.h), and rounds where the engine rounds.

const PANEL = 64; // outputs of a packed matrix's panel (native/products.h)
const HEADER = ["magic", "int8", "H", "d", "d_k", "d_v", "d_ff", "encoderLayers", "decoderLayers", "sources", "targets"];
const OPTIONS = ["before", "recurrent", "zeroFirst", "positions", "sourcePositions", "targetPositions"];
const [INTERLEAVED, CONCATENATED, LEARNED] = [1, 2, 3]; // kinds of positions
const LARGEST = 6; // terms of a sum that are shown one by one

/** The bfloat16 nearest to a number, in which int8 models keep keys and values. */
const toBfloat16 = (() => {
  const number = new Float32Array(1);
  const bits = new Uint32Array(number.buffer);
  return (x) => {
    number[0] = x;
    bits[0] = (bits[0] + 0x7fff + ((bits[0] >>> 16) & 1)) & 0xffff0000;
    return number[0];
  };
})();

/** The matrices of a model, read in place. */
class PackedModel {
  /** `bytes`: the model; `scale`: the factor of the scores, 1 / √d_k, which is stored inside W^Q. */
  constructor(bytes, scale) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.floats = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
    this.bytes = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.scale = scale;
    this.at = 0;
    for (const name of [...HEADER, ...OPTIONS]) this[name] = this.integer();
    [this.sourceScale, this.targetScale] = this.floats.subarray(this.at / 4, this.at / 4 + 2);
    this.at += 8;
    const { H, d, d_ff, targets, recurrent } = this;
    const [keys, values] = [H * this.d_k, H * this.d_v];
    const norms = (count) => Array.from({ length: count }, () => this.norm());
    const layers = (count, layer) => Array.from({ length: count }, layer);
    this.output = this.linear(d, targets);
    const [target, source] = [this.linear(d, targets), this.linear(d, this.sources)];
    this.target = target.weight ? target : this.output;
    this.source = source.weight ? source : this.target;
    this.learned = { source: this.table(this.sourcePositions * d), target: this.table(this.targetPositions * d) };
    this.encoder = layers(this.encoderLayers, () => ({
      own: { qkv: this.linear(d, 2 * keys + values, keys), out: this.linear(values, d) },
      network: { first: this.linear(d, d_ff), second: this.linear(d_ff, d) },
      norms: norms(2),
    }));
    this.encoderNorm = this.norm();
    this.decoder = layers(this.decoderLayers, () => ({
      own: { qkv: this.linear(d, recurrent ? 2 * d : 2 * keys + values, recurrent ? 0 : keys), out: this.linear(values, d) },
      cross: { query: this.linear(d, keys, keys), out: this.linear(values, d) },
      network: { first: this.linear(d, d_ff), second: this.linear(d_ff, d) },
      norms: norms(3),
      memory: this.linear(d, keys + values),
    }));
    this.decoderNorm = this.norm();
  }

  integer() {
    this.at += 4;
    return this.view.getInt32(this.at - 4, true);
  }

  table(count) {
    const at = this.integer() >>> 2;
    return at && count ? this.floats.subarray(at, at + count) : null;
  }

  /** A matrix with its bias; the first `scaled` outputs are stored multiplied by the scale of the scores. */
  linear(inputs, outputs, scaled = 0) {
    return { weight: this.integer() >>> 2, bias: this.table(outputs), inputs, outputs, scaled };
  }

  norm() {
    const [gamma, beta] = [this.table(this.d), this.table(this.d)];
    this.at += 8;
    return gamma && { gamma, beta, epsilon: this.view.getFloat64(this.at - 8, true) };
  }

  /** The weights of one output of a matrix. */
  row({ weight, inputs, scaled }, output) {
    const depth = this.int8 ? (inputs + 3) >> 2 : inputs;
    const panel = weight + (output - (output % PANEL)) * (this.int8 ? depth + 2 : depth) + (output % PANEL);
    const factor = (this.int8 ? this.floats[panel + depth * PANEL] : 1) / (output < scaled ? this.scale : 1);
    const row = new Float32Array(inputs);
    for (let i = 0; i < inputs; i++)
      row[i] = factor * (this.int8 ? this.bytes[4 * (panel + (i >> 2) * PANEL) + (i & 3)] : this.floats[panel + i * PANEL]);
    return row;
  }

  bias({ bias, scaled }, output) {
    return bias ? bias[output] / (output < scaled ? this.scale : 1) : 0;
  }

  /** A vector as matrices are multiplied by it: in int8, rounded to 255 levels. */
  rounded(x) {
    const highest = this.int8 ? x.reduce((most, one) => Math.max(most, Math.abs(one)), 0) : 0;
    return highest > 1e-30 ? x.map((one) => (Math.floor((one * 127) / highest + 0.5) * highest) / 127) : x;
  }

  /** x W + b for each of the vectors. */
  product(linear, vectors) {
    const inputs = vectors.map((x) => this.rounded(x));
    const products = vectors.map(() => new Float32Array(linear.outputs));
    for (let output = 0; output < linear.outputs; output++) {
      const row = this.row(linear, output);
      const bias = this.bias(linear, output);
      inputs.forEach((x, i) => (products[i][output] = sumOfProducts(x, row) + bias));
    }
    return products;
  }

  /** The encodings of the first positions (src/multihead/nn/positions.py). */
  encodings(side, count) {
    const { d, positions } = this;
    const half = (d + 1) >> 1;
    return Array.from({ length: count }, (_, p) => {
      if (positions === LEARNED) return this.learned[side].slice(p * d, (p + 1) * d);
      const row = new Float32Array(d);
      for (let i = 0; i < half && positions; i++) {
        const angle = p / 10000 ** (positions === INTERLEAVED ? (2 * i) / d : i / Math.max(half - 1, 1));
        const [sine, cosine] = positions === CONCATENATED ? [i, half + i] : [2 * i, 2 * i + 1];
        row[sine] = Math.sin(angle);
        if (cosine < d) row[cosine] = Math.cos(angle);
      }
      return row;
    });
  }
}

function sumOfProducts(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

const added = (x, y) => x.map((one, i) => one + y[i]);

/** γ (x - μ) / √(σ² + ε) + β; null: the vector itself. */
function normalised(x, norm) {
  if (!norm) return x;
  const { mean, deviation } = moments(x, norm);
  return x.map((one, i) => ((one - mean) / deviation) * norm.gamma[i] + norm.beta[i]);
}

function moments(x, { epsilon }) {
  const mean = x.reduce((sum, one) => sum + one, 0) / x.length;
  const variance = x.reduce((sum, one) => sum + (one - mean) ** 2, 0) / x.length;
  return { mean, variance, deviation: Math.sqrt(variance + epsilon) };
}

function softmax(scores) {
  const highest = scores.reduce((most, one) => Math.max(most, one), -Infinity);
  const powers = scores.map((one) => Math.exp(one - highest));
  const sum = powers.reduce((all, one) => all + one, 0);
  return { highest, powers, sum, weights: powers.map((one) => one / sum) };
}

/** One pass of a model over a source and a target, both with their end symbols. */
class ForwardPass {
  constructor(model, source, target, begin) {
    this.model = model;
    this.encoder = [{ part: "input", ...this.embedded("source", source) }];
    for (let layer = 0; layer < model.encoderLayers; layer++) {
      this.attend(this.encoder, "own", layer, model.encoder[layer], 0);
      this.feed(this.encoder, layer, model.encoder[layer], 1);
    }
    this.end(this.encoder, model.encoderNorm);
    const memory = this.encoder.at(-1).after;
    this.decoder = [{ part: "input", ...this.embedded("target", [begin, ...target.slice(0, -1)]) }];
    for (let layer = 0; layer < model.decoderLayers; layer++) {
      const weights = model.decoder[layer];
      if (model.recurrent) this.recur(layer, weights);
      else this.attend(this.decoder, "own", layer, weights, 0);
      this.attend(this.decoder, "cross", layer, weights, 1, memory);
      this.feed(this.decoder, layer, weights, 2);
    }
    this.end(this.decoder, model.decoderNorm);
  }

  embedded(side, ids) {
    const { model } = this;
    const scale = model[`${side}Scale`];
    const zero = new Float32Array(model.d);
    const tokens = ids.map((id) => (id < model[`${side}s`] ? model.row(model[side], id).map((one) => one * scale) : zero));
    const positions = model.encodings(side, ids.length);
    return { tokens, positions, after: tokens.map((one, i) => added(one, positions[i])) };
  }

  /** Add a sublayer: what it reads, what it computes of that, and its residual connection. */
  sublayer(stack, part, layer, norm, compute) {
    const before = stack.at(-1).after;
    const read = this.model.before ? before.map((x) => normalised(x, norm)) : before;
    const record = { part, layer, norm, before, read, ...compute(read) };
    record.sum = before.map((x, i) => added(x, record.out[i]));
    record.after = this.model.before ? record.sum : record.sum.map((x) => normalised(x, norm));
    stack.push(record);
  }

  attend(stack, part, layer, weights, which, memory = null) {
    const { model } = this;
    const { H, d_k, d_v } = model;
    const { qkv, query, out } = weights[part];
    const causal = stack === this.decoder && !memory;
    // The engine keeps a decoder's keys and values in bfloat16 if the matrices are in int8.
    const kept = model.int8 && stack === this.decoder ? (x) => x.map(toBfloat16) : (x) => x;
    this.sublayer(stack, part, layer, weights.norms[which], (read) => {
      const own = model.product(memory ? query : qkv, read);
      const other = memory ? model.product(weights.memory, memory) : own.map((x) => x.subarray(H * d_k));
      const q = own.map((x) => x.subarray(0, H * d_k));
      const k = other.map((x) => kept(x.slice(0, H * d_k)));
      const v = other.map((x) => kept(x.slice(H * d_k)));
      const head = (x, h, width) => x.subarray(h * width, (h + 1) * width);
      const scores = Array.from({ length: H }, (_, h) =>
        q.map((x, i) =>
          Float32Array.from(k.slice(0, causal ? i + 1 : k.length), (y) => model.scale * sumOfProducts(head(x, h, d_k), head(y, h, d_k))),
        ),
      );
      const shares = scores.map((rows) => rows.map((row) => softmax(row).weights));
      const heads = q.map((_, i) => {
        const mixed = new Float32Array(H * d_v);
        for (let c = 0; c < H * d_v; c++)
          mixed[c] = shares[Math.floor(c / d_v)][i].reduce((sum, weight, j) => sum + weight * v[j][c], 0);
        return mixed;
      });
      return { memory: memory ?? read, q, k, v, scores, shares, heads, out: model.product(out, heads) };
    });
  }

  feed(stack, layer, { network, norms }, which) {
    this.sublayer(stack, "network", layer, norms[which], (read) => {
      const inner = this.model.product(network.first, read).map((x) => x.map((one) => Math.max(0, one)));
      return { inner, out: this.model.product(network.second, inner) };
    });
  }

  /** An SSRU: c_t = f c_(t-1) + (1 - f) u, f = sigmoid(g); ReLU(c_t). */
  recur(layer, { own, norms }) {
    this.sublayer(this.decoder, "recurrent", layer, norms[0], (read) => {
      let state = new Float32Array(this.model.d);
      const out = this.model.product(own.qkv, read).map((x) => {
        state = state.map((c, i) => {
          const forget = 1 / (1 + Math.exp(-x[state.length + i]));
          return forget * c + (1 - forget) * x[i];
        });
        return state.map((c) => Math.max(0, c));
      });
      return { out };
    });
  }

  end(stack, norm) {
    const before = stack.at(-1).after;
    stack.push({ part: "output", norm, before, after: before.map((x) => normalised(x, norm)) });
  }

  /** The steps of a stack in the order of computation: [{part, layer, step}]. */
  route(side) {
    const around = (steps) => (this.model.before ? ["norm", ...steps, "add"] : [...steps, "add", "norm"]);
    const attention = around(["query", "key", "score", "softmax", "value", "mix", "project"]);
    return this[side].flatMap(({ part, layer, norm }) => {
      const last = [...(norm ? ["norm"] : []), ...(side === "decoder" ? ["logit", "probability"] : [])];
      const steps = { input: ["embed"], own: attention, cross: attention, network: around(["inner", "outer"]), output: last };
      return (steps[part] ?? []).map((step) => ({ part, layer: layer ?? 0, step }));
    });
  }

  /**
   * The numbers of one step for a position (row), a head from 0, a position that is attended to (column), and a
   * component of the result; null: the largest. `temperature` divides the logits.
   */
  work({ side, part, layer, step, head, row, column, component, id, temperature = 1 }) {
    const { model } = this;
    const { d_k, d_v, H } = model;
    const record = this[side].find((one) => one.part === part && (one.layer ?? 0) === layer);
    const weights = model[side][layer] ?? {};
    const chosen = step === "logit" ? id : component;
    const at = (result) => (chosen === null || chosen >= result.length ? largest(result) : chosen);
    const dot = (linear, input, from, result) => {
      const c = at(result);
      const x = model.rounded(input);
      return { ...terms(x, model.row(linear, from + c)), bias: model.bias(linear, from + c), result, component: c };
    };
    const headOf = (x, width) => x.subarray(head * width, (head + 1) * width);
    const seen = record.shares?.[head]?.[row];
    const j = seen && (column === null || column >= seen.length ? largest(seen) : column);
    const { qkv, query, out } = weights[part] ?? {};
    const [own, other, first] = part === "cross" ? [query, weights.memory, 0] : [qkv, qkv, H * d_k];
    const logits = () => model.product(model.output, [record.after[row]])[0];
    const steps = {
      embed: () => sumOf(record.tokens[row], record.positions[row], record.after[row], at),
      norm: () => normOf(part !== "output" && !model.before ? record.sum[row] : record.before[row], record.norm, at),
      query: () => dot(own, record.read[row], head * d_k, headOf(record.q[row], d_k)),
      key: () => dot(other, record.memory[j], first + head * d_k, headOf(record.k[j], d_k)),
      score: () => ({
        ...terms(headOf(record.q[row], d_k), headOf(record.k[j], d_k)),
        factor: model.scale,
        result: record.scores[head][row],
        component: j,
      }),
      softmax: () => ({ figure: "softmax", scores: record.scores[head][row], ...softmax(record.scores[head][row]), component: j }),
      value: () => dot(other, record.memory[j], first + H * d_k + head * d_v, headOf(record.v[j], d_v)),
      mix: () => {
        const result = headOf(record.heads[row], d_v);
        const c = at(result);
        const values = Float32Array.from(seen, (_, i) => record.v[i][head * d_v + c]);
        return { ...terms(seen, values), result, component: c };
      },
      project: () => dot(out, record.heads[row], 0, record.out[row]),
      add: () => sumOf(record.before[row], record.out[row], record.sum[row], at),
      inner: () => ({ ...dot(weights.network.first, record.read[row], 0, record.inner[row]), relu: true }),
      outer: () => dot(weights.network.second, record.inner[row], 0, record.out[row]),
      logit: () => dot(model.output, record.after[row], 0, logits()),
      probability: () => vocabularySoftmax(logits(), id, temperature),
    };
    return { step, column: j ?? null, ...steps[step]() };
  }
}

const largest = (x) => x.reduce((best, one, i) => (Math.abs(one) > Math.abs(x[best]) ? i : best), 0);

/** a · b: its largest terms as [place, a, b, product], and the sum of the others. */
function terms(a, b) {
  const products = Array.from(a, (one, i) => one * b[i]);
  const order = [...products.keys()].sort((i, j) => Math.abs(products[j]) - Math.abs(products[i]));
  const shown = order.slice(0, LARGEST).sort((i, j) => i - j);
  const rest = order.slice(LARGEST).reduce((sum, i) => sum + products[i], 0);
  const others = order.length - shown.length;
  return { figure: "dot", a, b, shown: shown.map((i) => [i, a[i], b[i], products[i]]), others, rest };
}

function sumOf(a, b, result, at) {
  const component = at(result);
  return { figure: "sum", a, b, result, component };
}

function normOf(a, norm, at) {
  const result = normalised(a, norm);
  const component = at(result);
  const [gamma, beta] = [norm.gamma[component], norm.beta[component]];
  return { figure: "norm", a, ...moments(a, norm), epsilon: norm.epsilon, gamma, beta, result, component };
}

/** The softmax over the vocabulary: its most probable tokens and the chosen one, and the sum of all powers. */
function vocabularySoftmax(logits, id, temperature) {
  const scores = logits.map((one) => one / temperature);
  const { highest, powers, sum, weights } = softmax(scores);
  const order = [...scores.keys()].sort((i, j) => scores[j] - scores[i]).slice(0, LARGEST);
  const ids = order.includes(id) ? order : [...order, id];
  const pick = (list) => ids.map((one) => list[one]);
  const others = scores.length - ids.length;
  return {
    figure: "softmax", ids, others, highest, sum, temperature, component: ids.indexOf(id),
    logits: pick(logits), scores: pick(scores), powers: pick(powers), weights: pick(weights),
  };
}
