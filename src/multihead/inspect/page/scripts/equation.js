// softmax(q kᵀ / √d_k) v for one query, with every intermediate result.

/** Evaluate the equation for one query. */
function evaluate(numbers, { q, k, v }, query, mayAttend) {
  const { d_k, d_v, scale } = numbers;
  const row = (all, width, i) => all.subarray(i * width, (i + 1) * width);
  const count = k.length / d_k;
  const own = row(q, d_k, query);
  const scores = Array.from({ length: count }, (_, j) =>
    row(k, d_k, j).reduce((sum, value, i) => sum + value * own[i], 0),
  );
  const scaled = scores.map((score) => score * scale);
  const allowed = scores.map((_, j) => mayAttend(query, j));
  const most = Math.max(...scaled.filter((_, j) => allowed[j]));
  const exponents = scaled.map((value, j) => (allowed[j] ? Math.exp(value - most) : 0));
  const total = exponents.reduce((a, b) => a + b, 0);
  const weights = exponents.map((value) => value / total);
  const output = new Float32Array(d_v);
  weights.forEach((weight, j) => row(v, d_v, j).forEach((value, i) => (output[i] += weight * value)));
  return {
    q: own,
    k: (j) => row(k, d_k, j),
    v: (j) => row(v, d_v, j),
    scores,
    scaled,
    allowed,
    weights,
    output,
  };
}
