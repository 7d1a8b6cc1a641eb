// What the workers of all pages share: blocks, unpacked and checked against the checksums in the page's script, and
// the page's requests, one at a time.

let facts = null;
let latest = 0; // number of the newest request; older ones are given up

const tell = (type, content = {}, moved = []) => postMessage({ type, ...content }, moved);

/** A macrotask, in which messages arrive. */
const turn = (() => {
  const channel = new MessageChannel();
  const waiting = [];
  channel.port1.onmessage = () => waiting.shift()();
  return () =>
    new Promise((done) => {
      waiting.push(done);
      channel.port2.postMessage(0);
    });
})();

async function unpacked(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** A block of the page, whose checksum must be the one in the page's script. */
async function block(blocks, name, checksums) {
  let bytes;
  try {
    bytes = await unpacked(blocks[name]);
  } catch (error) {
    throw Object.assign(new Error(typeof DecompressionStream === "undefined" ? "unsupported" : "altered"), {
      block: name,
      cause: error,
    });
  }
  if (sha256(bytes) !== checksums[name]) throw Object.assign(new Error("altered"), { block: name });
  return bytes;
}

const asJson = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

/**
 * Answer the page's requests, one at a time: they share the engine's memory. A fault is told to the page.
 *
 * load: makes the worker's engine of code, weights and vocabularies; passes: whether the engine repeats a recorded
 * check; tasks: by the type of a request; arrived: called at once with each request.
 */
function answerPage({ load, passes, tasks, arrived = () => {} }) {
  const start = async ({ blocks, checksums }) => {
    const begun = performance.now();
    const [code, weights, vocabularies, given] = await Promise.all(
      ["engine", "weights", "vocabularies", "facts"].map((name) => block(blocks, name, checksums)),
    );
    facts = asJson(given);
    await load(code, weights, asJson(vocabularies));
    tell("ready", { facts, milliseconds: performance.now() - begun });
  };
  const check = async () => {
    let same = 0;
    for (const one of facts.checks) {
      await turn();
      same += (await passes(one)) ? 1 : 0;
    }
    tell("checked", { same, of: facts.checks.length });
  };
  const all = { start, check, ...tasks };
  let queue = Promise.resolve();
  self.onmessage = ({ data }) => {
    if (data.number) latest = Math.max(latest, data.number);
    arrived(data);
    queue = queue
      .then(() => (data.number && data.number !== latest ? undefined : all[data.type](data)))
      .catch((error) =>
        tell("fault", { fault: error.message, block: error.block, detail: String(error.cause ?? "") }),
      );
  };
}
