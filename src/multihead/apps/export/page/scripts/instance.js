// A module of WebAssembly with a model's weights: what the engines of all pages begin with.

/** Return the calls of a module. Throws "unsupported". */
async function instantiated(code) {
  try {
    return (await WebAssembly.instantiate(code, {})).instance.exports;
  } catch (error) {
    throw new Error("unsupported", { cause: error });
  }
}

/** Initialise a module and copy weights into its memory; return their address. */
function placed(calls, weights) {
  calls._initialize?.();
  const at = calls.allocate(weights.length);
  new Uint8Array(calls.memory.buffer, at, weights.length).set(weights);
  return at;
}
