// Questions and answers: from the server, or out of the page itself where a paper carries it.

const stored = window.ANSWERS;
export const isStatic = stored !== null;
const TYPES = { F32: Float32Array, U32: Uint32Array, U8: Uint8Array };

export async function askTable(question) {
  return JSON.parse(new TextDecoder().decode(await ask(question)));
}

// Arrays by name, each {data, shape}, as the safetensors format lays them out.
export async function askArrays(question) {
  const bytes = await ask(question);
  const length = Number(new DataView(bytes).getBigUint64(0, true));
  const { __metadata__, ...header } = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, length)));
  const read = ([name, { dtype, shape, data_offsets: [from, to] }]) => {
    const own = bytes.slice(8 + length + from, 8 + length + to); // a copy, as arrays must begin at multiples of 4
    return [name, { data: new TYPES[dtype](own), shape }];
  };
  return Object.fromEntries(Object.entries(header).map(read));
}

export async function ask(question) {
  if (isStatic) return unpacked(question);
  const response = await fetch(`ask/${question}`).catch(() => {
    throw new Error("The explorer has stopped. Start it again: ees explore RUN");
  });
  if (!response.ok) throw new Error(await response.text());
  return response.arrayBuffer();
}

function unpacked(question) {
  if (!(question in stored)) throw new Error("This is not in the file. The explorer itself has it: ees explore RUN");
  const packed = Uint8Array.from(atob(stored[question]), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// Asks for arrays, and keeps the last answers, so many at most: memory stays bounded however long a run is.
export function remembering(most) {
  const answers = new Map();
  return (question) => {
    const answer = answers.get(question) ?? askArrays(question);
    answers.delete(question); // and back in at the end: a Map keeps the order, and its first is forgotten
    answers.set(question, answer);
    answer.catch(() => answers.delete(question)); // what failed may be asked again
    if (answers.size > most) answers.delete(answers.keys().next().value);
    return answer;
  };
}
