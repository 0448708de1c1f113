// Samples as they travel: int16, little-endian, whatever this machine's order is.

const FULL_SCALE = 32768;

/**
 * @param {ArrayBuffer} bytes whole int16 samples
 * @returns {Float32Array} from -1 to 1
 */
export function decode(bytes) {
  const view = new DataView(bytes);
  const samples = new Float32Array(view.byteLength >> 1);
  for (let i = 0; i < samples.length; i += 1) samples[i] = view.getInt16(2 * i, true) / FULL_SCALE;
  return samples;
}

/**
 * @param {Float32Array} samples from -1 to 1; louder is clipped
 * @returns {ArrayBuffer}
 */
export function encode(samples) {
  const view = new DataView(new ArrayBuffer(2 * samples.length));
  for (let i = 0; i < samples.length; i += 1) {
    const value = Math.round(samples[i] * FULL_SCALE);
    view.setInt16(2 * i, Math.max(-FULL_SCALE, Math.min(FULL_SCALE - 1, value)), true);
  }
  return view.buffer;
}
