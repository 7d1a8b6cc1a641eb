// An image as Python reads it: scaled and cropped as by Pillow, then cut into patches.

const BITS = 22; // of Pillow's fixed-point coefficients

/** Pillow's bicubic filter (a = -0.5). */
const bicubic = (x) => {
  const a = -0.5;
  if (x < 0) x = -x;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
};

/** For each of `size` outputs, the first input and its fixed-point coefficients; the inputs are from `low` to `high`. */
function coefficients(length, low, high, size) {
  const scale = (high - low) / size;
  const wide = Math.max(scale, 1);
  return Array.from({ length: size }, (_, i) => {
    const centre = low + (i + 0.5) * scale;
    const first = Math.max(0, Math.trunc(centre - 2 * wide + 0.5));
    const last = Math.min(length, Math.trunc(centre + 2 * wide + 0.5));
    const factors = Array.from({ length: last - first }, (_, k) => bicubic((k + first - centre + 0.5) / wide));
    const sum = factors.reduce((a, b) => a + b, 0);
    const fixed = factors.map((one) => {
      const large = (sum === 0 ? one : one / sum) * 2 ** BITS;
      return Math.trunc(large + (large < 0 ? -0.5 : 0.5));
    });
    return { first, fixed };
  });
}

const rounded = (sum) => Math.min(255, Math.max(0, Math.floor((sum + 2 ** (BITS - 1)) / 2 ** BITS)));

/** Scale one channel, (height, width), along its rows from `low` to `high`; (height, size). */
function scaledRows(pixels, height, width, low, high, size) {
  if (low === 0 && high === width && size === width) return pixels;
  const made = new Uint8Array(height * size);
  coefficients(width, low, high, size).forEach(({ first, fixed }, x) => {
    for (let y = 0; y < height; y++) {
      let sum = 0;
      for (let k = 0; k < fixed.length; k++) sum += fixed[k] * pixels[y * width + first + k];
      made[y * size + x] = rounded(sum);
    }
  });
  return made;
}

function turned(pixels, height, width) {
  const made = new Uint8Array(pixels.length);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) made[x * height + y] = pixels[y * width + x];
  return made;
}

/** Scale the shorter side of a channel to `size` and crop the longer one around its centre; (size, size). */
function fittedChannel(pixels, height, width, size) {
  if (height === size && width === size) return pixels;
  const side = Math.min(height, width);
  const [left, top] = [(width - side) * 0.5, (height - side) * 0.5];
  // Each pass rounds, so their order matters: Pillow 13 begins with the columns if the height shrinks much more.
  if (height > size && height - size > 2 * (width - size)) {
    const columns = scaledRows(turned(pixels, height, width), width, height, top, top + side, size);
    return scaledRows(turned(columns, width, size), size, width, left, left + side, size);
  }
  const rows = scaledRows(pixels, height, width, left, left + side, size);
  return turned(scaledRows(turned(rows, height, size), size, height, top, top + side, size), size, size);
}

/** The channels of an image given as RGBA, (height, width, 4): colours, or their luminance. */
function fittedImage({ data, height, width }, channels, size) {
  const count = height * width;
  const planes = Array.from({ length: channels }, () => new Uint8Array(count));
  for (let i = 0; i < count; i++) {
    const [r, g, b] = [data[4 * i], data[4 * i + 1], data[4 * i + 2]];
    if (channels === 1) planes[0][i] = (r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16;
    else [planes[0][i], planes[1][i], planes[2][i]] = [r, g, b];
  }
  return planes.map((plane) => fittedChannel(plane, height, width, size));
}

/** Patches, row by row, channels first within a patch, with pixels from -1 to 1. */
function patchesOf(planes, grid, patch) {
  const size = grid * patch;
  const made = new Float32Array(planes.length * size * size);
  let at = 0;
  for (let row = 0; row < grid; row++)
    for (let column = 0; column < grid; column++)
      for (const plane of planes)
        for (let y = 0; y < patch; y++)
          for (let x = 0; x < patch; x++) {
            const pixel = plane[(row * patch + y) * size + column * patch + x];
            made[at++] = 2 * Math.fround(pixel / 255) - 1;
          }
  return made;
}
