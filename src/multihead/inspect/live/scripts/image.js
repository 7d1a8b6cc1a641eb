// An image classifier: drop an image, and see where every head looks.

const seen = { planes: null, shares: [], N: 0, weights: null, token: 0, took: 0, refused: false };
const shownImage = h("canvas", { class: "image", tabindex: "0", role: "img", width: 1, height: 1 });
const lookedAt = h("canvas", { class: "image", tabindex: "0", role: "img", width: 1, height: 1 });
const chosenFile = h("input", { type: "file", accept: "image/*", id: "file", class: "unseen" });
const dropped = h("div", { class: "drop" });
const imageHead = h("div", { class: "head" });
const imageFoot = h("div", { class: "foot", role: "status" });
const classesHead = h("div", { class: "head" });
const classList = h("div", { id: "output", class: "classes", "aria-live": "polite" });

const imagePanes = h(
  "section",
  { class: "panes" },
  h("div", { class: "pane", id: "pane" }, imageHead, dropped, imageFoot),
  h("div", { class: "pane" }, classesHead, classList),
);

/** Decode an image, on white where it is transparent, and have it classified. */
async function readImage(file) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { colorSpaceConversion: "none" });
  } catch {
    seen.refused = true;
    return paintImage();
  }
  seen.refused = false;
  const { width, height } = bitmap;
  const canvas = h("canvas", { width, height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = "#fff";
  context.fillRect(0, 0, width, height);
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  number++;
  worker.postMessage({ type: "classify", number, image: { data, width, height } }, [data.buffer]);
  return undefined;
}

/** The weights of the chosen token over the patches, of the largest. */
function imageMaps() {
  const { N, weights, token } = seen;
  const { heads, grid: side, first, layers } = view.facts;
  const one = (layer, head) => (i, j) =>
    weights[((layer * heads + head - 1) * N + token) * N + first + i * side + j];
  const largestOf = (at) => {
    let most = 1e-9;
    for (let i = 0; i < side; i++) for (let j = 0; j < side; j++) most = Math.max(most, at(i, j));
    return most;
  };
  const relative = (at, most = largestOf(at)) => (i, j) => at(i, j) / most;
  const places = Array.from({ length: side }, (_, i) => String(i + 1));
  const at = withMean(heads, one);
  return {
    layers: layers[0],
    heads,
    rows: places,
    columns: places,
    share: at,
    most: (layer, head) => largestOf(at(layer, head)),
    at: (layer, head) => relative(at(layer, head)),
    future: () => false,
  };
}

/** Draw the image; `light` says how bright each patch is. */
function drawShaded(canvas, light) {
  const { grid: side, patch } = view.facts;
  const size = side * patch;
  const { planes } = seen;
  const small = h("canvas", { width: size, height: size });
  const context = small.getContext("2d");
  const pixels = context.createImageData(size, size);
  for (let i = 0; i < size * size; i++) {
    for (let c = 0; c < 3; c++) pixels.data[4 * i + c] = planes[planes.length === 1 ? 0 : c][i];
    pixels.data[4 * i + 3] = 255;
  }
  context.putImageData(pixels, 0, 0);
  const scale = Math.max(1, Math.round(448 / size));
  canvas.width = canvas.height = size * scale;
  const to = canvas.getContext("2d");
  to.imageSmoothingEnabled = size > 100;
  to.drawImage(small, 0, 0, size * scale, size * scale);
  const cell = patch * scale;
  for (let i = 0; i < side; i++)
    for (let j = 0; j < side; j++) {
      to.fillStyle = `rgba(8, 12, 20, ${light ? 0.82 * (1 - light(i, j)) : 0})`;
      to.fillRect(j * cell, i * cell, cell, cell);
    }
  if (seen.token >= view.facts.first) {
    const place = seen.token - view.facts.first;
    const [i, j] = [Math.floor(place / side), place % side];
    to.lineWidth = Math.max(3, cell / 16);
    to.strokeStyle = colour("choice");
    to.strokeRect(j * cell + to.lineWidth / 2, i * cell + to.lineWidth / 2, cell - to.lineWidth, cell - to.lineWidth);
  }
}

const hasClassToken = () => view.facts.pooling === "class";

function tokenName() {
  const { grid: side, first } = view.facts;
  const place = seen.token - first;
  return place < 0 ? t("classToken") : t("patchName", Math.floor(place / side) + 1, (place % side) + 1);
}

function choosePatch(row, column) {
  const { grid: side, first } = view.facts;
  const [i, j] = [row, column].map((one) => Math.min(Math.max(one, 0), side - 1));
  const token = first + i * side + j;
  seen.token = token === seen.token && hasClassToken() ? 0 : token;
  paintImage();
}

for (const canvas of [shownImage, lookedAt]) {
  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    const place = (at, from, length) => Math.floor(((at - from) / length) * view.facts.grid);
    choosePatch(place(event.clientY, box.top, box.height), place(event.clientX, box.left, box.width));
  });
  canvas.addEventListener("keydown", (event) => {
    const { grid: side, first } = view.facts;
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    if (event.key === "Escape" && hasClassToken()) {
      seen.token = 0;
      paintImage();
    } else if (event.key in steps) {
      const place = seen.token - first;
      const [i, j] = place < 0 ? [side >> 1, side >> 1] : [Math.floor(place / side), place % side];
      const [down, right] = place < 0 ? [0, 0] : steps[event.key];
      const [row, column] = [i + down, j + right];
      if (row >= 0 && column >= 0 && row < side && column < side) choosePatch(row, column);
    } else return;
    event.preventDefault();
  });
}

function paintClasses() {
  classesHead.replaceChildren(h("h2", {}, t("classes")));
  if (!seen.shares.length) return classList.replaceChildren(h("p", { class: "waiting" }, t("classesLead")));
  return classList.replaceChildren(
    ...seen.shares.slice(0, 10).map(({ id, share }, i) =>
      h("div", { class: "way", "data-class": id, "aria-current": String(i === 0) }, shareOf(view.facts.classes[id], share)),
    ),
  );
}

function paintImage() {
  const { grid: side, patch } = view.facts;
  const pick = h("label", { class: "plain", for: "file" }, t("choose"));
  imageHead.replaceChildren(h("h2", {}, t("imageName")), h("span", { class: "gap" }), chosenFile, pick);
  if (!seen.planes) dropped.replaceChildren(h("p", { class: "invite" }, h("b", {}, t("drop")), h("br"), t("dropHint")));
  else if (!shownImage.isConnected) dropped.replaceChildren(shownImage);
  const facts = seen.planes ? `${t("scaled", side * patch)} · ${t("took", seen.took)}` : "";
  imageFoot.replaceChildren(seen.refused ? h("b", { class: "refused" }, t("notImage")) : facts);
  paintClasses();
  const lead = hasClassToken() ? "imageLead" : "patchLead";
  if (!seen.planes) return paintOwnAttention(lead);
  const maps = imageMaps();
  const [layer, chosen] = chosenHead("own", maps);
  drawShaded(shownImage, null);
  drawShaded(lookedAt, maps.at(layer, chosen));
  const title = `${t("looks", tokenName())} · ${t("mapTitle", layer + 1, chosen)}`;
  shownImage.setAttribute("aria-label", t("imageName"));
  lookedAt.setAttribute("aria-label", title);
  const focused = document.activeElement === lookedAt;
  paintOwnAttention(lead, maps, title, lookedAt, t("brightest", maps.most(layer, chosen).toFixed(3)));
  if (focused) lookedAt.focus();
  return undefined;
}

const IMAGE = {
  classified(data) {
    if (data.number !== number) return;
    const { planes, shares, N, weights, milliseconds } = data;
    const token = hasClassToken() ? 0 : view.facts.first;
    Object.assign(seen, { planes, shares, N, weights, took: milliseconds, token: seen.planes ? seen.token : token });
    paintImage();
    document.documentElement.dataset.classified = String(data.number);
  },
};

function startImage() {
  const files = (event, list) => {
    const file = Array.from(list ?? []).find((one) => one.type.startsWith("image/")) ?? list?.[0];
    if (!file) return;
    event.preventDefault();
    readImage(file);
  };
  const over = (inside) => (event) => {
    event.preventDefault();
    imagePanes.classList.toggle("over", inside);
  };
  document.addEventListener("dragover", over(true));
  document.addEventListener("dragleave", over(false));
  document.addEventListener("drop", (event) => {
    over(false)(event);
    files(event, event.dataTransfer?.files);
  });
  document.addEventListener("paste", (event) => files(event, event.clipboardData?.files));
  chosenFile.addEventListener("change", (event) => files(event, chosenFile.files));
  lookedAt.addEventListener("pointermove", (event) => {
    const maps = imageMaps();
    const box = lookedAt.getBoundingClientRect();
    const [i, j] = [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width].map((one) =>
      Math.min(view.facts.grid - 1, Math.max(0, Math.floor(one * view.facts.grid))),
    );
    const weight = maps.share(...chosenHead("own", maps))(i, j).toFixed(3);
    showTip(t("toTarget", tokenName(), t("patchName", i + 1, j + 1), weight), event.clientX, event.clientY);
  });
  lookedAt.addEventListener("pointerleave", hideTip);
  if (view.facts.image) readImage(new Blob([Uint8Array.from(atob(view.facts.image), (one) => one.charCodeAt(0))]));
}
