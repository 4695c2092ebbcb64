// Arrays out of the page: compressed bytes as text.

const TYPES = { uint8: Uint8Array, float32: Float32Array, float16: Uint16Array };

export async function unpacked({ type, bytes }) {
  const compressed = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const found = new TYPES[type](await new Response(stream).arrayBuffer());
  return type === "float16" ? Float32Array.from(found, lengthened) : found;
}

// A number of 16 bits: its sign, 5 bits of exponent and 10 of fraction.
function lengthened(bits) {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
}
