// Questions and answers: from the server, or out of the page itself where a paper carries it.

const stored = window.ANSWERS;
export const isStatic = stored !== null;

export async function askTable(question) {
  return JSON.parse(new TextDecoder().decode(await ask(question)));
}

// Arrays by name, each {data, shape}, as the safetensors format lays them out.
export async function askArrays(question) {
  const bytes = await ask(question);
  const length = Number(new DataView(bytes).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, length)));
  const types = { F32: Float32Array, U32: Uint32Array, U8: Uint8Array };
  const arrays = {};
  for (const [name, { dtype, shape, data_offsets: [from, to] }] of Object.entries(header)) {
    if (name !== "__metadata__") arrays[name] = { data: new types[dtype](bytes.slice(8 + length + from, 8 + length + to)), shape };
  }
  return arrays;
}

async function ask(question) {
  if (isStatic) return unpacked(question);
  let response;
  try {
    response = await fetch(`ask/${question}`);
  } catch {
    throw new Error("The explorer has stopped. Start it again: ees explore RUN");
  }
  if (!response.ok) throw new Error(await response.text());
  return response.arrayBuffer();
}

async function unpacked(question) {
  if (!(question in stored)) throw new Error("This is not in the file. The explorer itself has it: ees explore RUN");
  const packed = Uint8Array.from(atob(stored[question]), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// The last results of a question, as many as fit: memory stays bounded however long a run is.
export function remembering(most, make) {
  const results = new Map();
  return (name) => {
    if (!results.has(name)) {
      const result = make(name);
      result.catch(() => results.delete(name));
      results.set(name, result);
      if (results.size > most) results.delete(results.keys().next().value);
    } else {
      const result = results.get(name);
      results.delete(name);
      results.set(name, result);
    }
    return results.get(name);
  };
}
