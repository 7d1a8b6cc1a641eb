// The page's blocks: unpacked, and checked against the checksums in the page's script.

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

/** Run requests one at a time: they share the engine's memory. A fault is told to the page. */
function inTurn() {
  let queue = Promise.resolve();
  return (task) => {
    queue = queue
      .then(task)
      .catch((error) =>
        tell("fault", { fault: error.message, block: error.block, detail: String(error.cause ?? "") }),
      );
  };
}
