// SHA-256 (FIPS 180-4) in hexadecimal. `crypto.subtle` is missing where a page is not served securely.

const SQUARE_ROOTS = new Uint32Array(8);
const CUBE_ROOTS = new Uint32Array(64);
for (let n = 2, found = 0; found < 64; n++) {
  let prime = true;
  for (let i = 2; i * i <= n; i++) if (n % i === 0) prime = false;
  if (!prime) continue;
  if (found < 8) SQUARE_ROOTS[found] = (Math.sqrt(n) % 1) * 2 ** 32;
  CUBE_ROOTS[found++] = (Math.cbrt(n) % 1) * 2 ** 32;
}

function sha256(bytes) {
  const padded = new Uint8Array(((bytes.length + 72) >> 6) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const words = new DataView(padded.buffer);
  words.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  words.setUint32(padded.length - 4, (bytes.length << 3) >>> 0);
  const state = Int32Array.from(SQUARE_ROOTS);
  const w = new Int32Array(64);
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i++) w[i] = words.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i++) {
      const a = w[i - 15];
      const b = w[i - 2];
      const s0 = ((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3);
      const s1 = ((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const one = (h + s1 + ((e & f) ^ (~e & g)) + CUBE_ROOTS[i] + w[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const other = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + other) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] += word));
  }
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}
