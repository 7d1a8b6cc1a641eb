// A text with masked tokens, and what the model would write in their place.

const WAYS = 8; // predictions of a masked token

class MaskedText {
  constructor(engine, tokenizer, facts) {
    Object.assign(this, { engine, tokenizer, facts });
  }

  /** Ids of a text in which each mask_text stands for one masked token. */
  encode(text) {
    const { mask, mask_text } = this.facts;
    const [first, ...others] = text.split(mask_text);
    return others.reduce((ids, part) => [...ids, mask, ...this.tokenizer.encode(part)], this.tokenizer.encode(first));
  }

  /** Hide the tokens at these places, predict them all at once, and record every head. */
  fill(given, hidden) {
    const { limit, begin, end, mask, vocabulary, banned } = this.facts;
    const ids = given.slice(0, limit - 2).map((id, i) => (hidden.includes(i) ? mask : id));
    const { N, weights } = this.engine.readText([begin, ...ids, end]);
    const predictions = ids.map((id, i) =>
      id === mask ? largest(this.engine.probabilities(i + 1, vocabulary, banned), WAYS) : null,
    );
    const filled = ids.map((id, i) => (predictions[i] ? predictions[i][0].id : id));
    return { ids, filled, predictions, N, weights, left: given.length - ids.length };
  }
}
