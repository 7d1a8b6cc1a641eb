// Text to token ids and back, as multihead's Python does it: byte-pair encoding or a unigram model, with byte fallback,
// WordPiece, or whole words.

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });
const BETWEEN_LETTERS = /(?<=[\p{L}\p{M}])['’ʼʻ`´′＇](?=\p{L})/gu;
const APART = "\\p{Script=Hangul}\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}ー";
const SPACE = "▁";

class Tokenizer {
  constructor(made) {
    Object.assign(this, made);
    this.ids = new Map(this.pieces.map((piece, id) => [piece, id]));
    this.isByte = (id) => id >= this.first_byte && id < this.first_byte + 256;
    this.hidden = new Set([...this.silent, ...this.symbols]);
    this.words = new Map(); // ids of words that were encoded before
    const reserved = new Set([...this.silent, ...this.symbols, this.unknown]);
    this.free = (id) => !reserved.has(id) && !this.isByte(id);
    if (this.kind === "bpe") this.readMerges();
    else this.readScores();
  }

  /** Ranks of merges by the two pieces. Unless they are given, every split of a piece into pieces is a merge. */
  readMerges() {
    this.ranks = new Map();
    const add = (left, right, result) =>
      this.ranks.set(left * this.pieces.length + right, [this.ranks.size, result]);
    if (this.merges) {
      for (let i = 0; i < this.merges.length; i += 2) {
        const [left, right] = [this.merges[i], this.merges[i + 1]];
        add(left, right, this.ids.get(this.pieces[left] + this.pieces[right]));
      }
      return;
    }
    this.pieces.forEach((piece, id) => {
      if (!this.free(id)) return;
      for (let at = 1; at < piece.length; at++) {
        const [left, right] = [this.ids.get(piece.slice(0, at)), this.ids.get(piece.slice(at))];
        if (left !== undefined && right !== undefined && this.free(left) && this.free(right)) add(left, right, id);
      }
    });
  }

  readScores() {
    this.longest = this.pieces.reduce((most, piece) => Math.max(most, piece.length), 0);
    if (this.scores) this.unknownScore = this.scores.reduce((a, b) => Math.min(a, b), Infinity) - 10;
    const digits = this.split_digits ? "\\p{N}" : "▁?\\p{N}+";
    this.parts = new RegExp(
      "▁?\\p{Script=Hangul}+|▁?[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}ー]+|" +
        `▁?(?:(?![${APART}])[\\p{L}\\p{M}])+|${digits}|▁?[^\\p{L}\\p{M}\\p{N}▁]${this.runs ? "+" : ""}|▁`,
      "gu",
    );
  }

  normalize(text) {
    let normal = text.isWellFormed?.() === false ? text.toWellFormed() : text;
    if (this.lowercase) normal = Array.from(normal, (letter) => letter.toLowerCase()).join("");
    normal = normal.normalize("NFC");
    if (this.apostrophe) normal = normal.replace(BETWEEN_LETTERS, this.apostrophe);
    return normal.replace(/[ ▁]+/g, " ").replace(/^ | $/g, "");
  }

  /** The ids of a text, without begin and end symbols. */
  encode(text) {
    return this.encodeWords(text).flatMap((word) => word.ids);
  }

  /** The words of a text, each with its ids. */
  encodeWords(text) {
    const normal = this.normalize(text);
    if (!normal) return [];
    return normal.split(" ").map((word) => ({ text: word, ids: this.encodeWord(SPACE + word) }));
  }

  encodeWord(word) {
    let ids = this.words.get(word);
    if (!ids) {
      if (this.words.size > 20000) this.words.clear();
      ids = this.kind === "bpe" ? this.merge(word) : this.split(word).flatMap((part) => this.segment(part));
      this.words.set(word, ids);
    }
    return ids;
  }

  /** The ids of a part of a word. */
  segment(part) {
    if (this.kind === "unigram") return this.viterbi(part);
    if (this.kind === "wordpiece") return this.longestPieces(part);
    return [this.ids.get(part) ?? this.unknown];
  }

  /** The parts of a word that are looked up, without the mark of its start. */
  partsOf(word) {
    const parts = this.kind === "bpe" ? [SPACE + word] : this.split(SPACE + word);
    return parts.map((part) => part.replace(SPACE, "")).filter(Boolean);
  }

  /** The bytes of a character that no piece covers. */
  bytes(letter) {
    return Array.from(encoder.encode(letter), (byte) => this.first_byte + byte);
  }

  /** Byte-pair encoding: merge the neighbours of the lowest rank, the leftmost first. */
  merge(word) {
    const ids = Array.from(word).flatMap((letter) => {
      const id = this.ids.get(letter);
      return id === undefined ? this.bytes(letter) : [id];
    });
    const next = ids.map((_, i) => (i + 1 < ids.length ? i + 1 : -1));
    const before = ids.map((_, i) => i - 1);
    const heap = new Heap();
    const offer = (left) => {
      if (left < 0 || next[left] < 0) return;
      const right = next[left];
      const found = this.ranks.get(ids[left] * this.pieces.length + ids[right]);
      if (found) heap.push({ rank: found[0], left, pair: [ids[left], ids[right]], result: found[1] });
    };
    ids.forEach((_, i) => offer(i));
    for (let one = heap.pop(); one; one = heap.pop()) {
      const right = next[one.left];
      if (ids[one.left] !== one.pair[0] || right < 0 || ids[right] !== one.pair[1]) continue;
      ids[one.left] = one.result;
      ids[right] = -1;
      next[one.left] = next[right];
      if (next[right] >= 0) before[next[right]] = one.left;
      offer(before[one.left]);
      offer(one.left);
    }
    return ids.filter((id) => id >= 0);
  }

  /** Parts of a word that no piece spans, as scripts and digits divide it. */
  split(word) {
    if (this.spaced) return [word];
    const parts = [];
    let end = 0;
    for (const found of word.matchAll(this.parts)) {
      if (found.index > end) parts.push(word.slice(end, found.index));
      parts.push(found[0]);
      end = found.index + found[0].length;
    }
    if (end < word.length) parts.push(word.slice(end));
    return parts;
  }

  /** WordPiece: the longest piece at each place; a part with a place that none fits is unknown. */
  longestPieces(part) {
    const letters = Array.from(part);
    const found = [];
    for (let from = 0; from < letters.length && letters.length <= this.most; ) {
      let to = Math.min(letters.length, from + this.longest);
      while (to > from && !this.ids.has(letters.slice(from, to).join(""))) to--;
      if (to === from) break;
      found.push(this.ids.get(letters.slice(from, to).join("")));
      from = to;
      if (from === letters.length) return found;
    }
    return [this.unknown];
  }

  /** The most probable segmentation by a unigram model. */
  viterbi(part) {
    const starts = [0];
    for (const letter of part) starts.push(starts.at(-1) + letter.length);
    const best = starts.map(() => null);
    best[0] = { score: 0 };
    const place = new Map(starts.map((start, i) => [start, i]));
    for (let i = 0; i + 1 < starts.length; i++) {
      let covered = false;
      for (let length = 1; length <= this.longest && starts[i] + length <= part.length; length++) {
        const end = place.get(starts[i] + length);
        if (end === undefined) continue;
        const id = this.ids.get(part.slice(starts[i], starts[i] + length));
        if (id === undefined || id === this.unknown) continue;
        covered ||= end === i + 1;
        const score = best[i].score + this.scores[id];
        if (!best[end] || score > best[end].score) best[end] = { score, from: i, id };
      }
      if (covered) continue;
      const score = best[i].score + this.unknownScore;
      if (!best[i + 1] || score > best[i + 1].score) best[i + 1] = { score, from: i, id: -1 };
    }
    const found = [];
    for (let i = starts.length - 1; i > 0; i = best[i].from) {
      const text = part.slice(starts[best[i].from], starts[i]);
      found.push(best[i].id < 0 ? this.bytes(text) : [best[i].id]);
    }
    return found.reverse().flat();
  }

  /** The text of ids; begin, end and padding are skipped. Words replace unknown tokens, in order. */
  decode(ids, words = []) {
    return this.decodePieces(ids, words).join("").replace(/^ /, "");
  }

  /** The text of each id; a character that is spelt in bytes belongs to its last byte. */
  decodePieces(ids, words = []) {
    const left = [...words];
    const texts = ids.map(() => "");
    for (let i = 0; i < ids.length; i++) {
      if (this.silent.includes(ids[i])) continue;
      if (!this.isByte(ids[i])) {
        texts[i] = ids[i] === this.unknown ? ` ${left.shift() ?? "<unk>"}` : this.pieces[ids[i]].replaceAll(SPACE, " ");
        continue;
      }
      const places = [];
      let end = i;
      for (; end < ids.length && (this.isByte(ids[end]) || this.silent.includes(ids[end])); end++)
        if (this.isByte(ids[end])) places.push(end);
      const bytes = Uint8Array.from(places, (place) => ids[place] - this.first_byte);
      try {
        let last = -1;
        for (const letter of decoder.decode(bytes)) {
          last += encoder.encode(letter).length;
          texts[places[last]] = letter;
        }
      } catch {
        for (const place of places) texts[place] = "\ufffd";
      }
      i = end - 1;
    }
    return texts;
  }
}

/** A binary heap of merges by rank, then by place. */
class Heap {
  items = [];

  static before = (a, b) => a.rank < b.rank || (a.rank === b.rank && a.left < b.left);

  push(one) {
    const { items } = this;
    let at = items.push(one) - 1;
    for (let up = (at - 1) >> 1; at > 0 && Heap.before(items[at], items[up]); up = (at - 1) >> 1) {
      [items[at], items[up]] = [items[up], items[at]];
      at = up;
    }
  }

  pop() {
    const { items } = this;
    if (items.length < 2) return items.pop();
    const first = items[0];
    items[0] = items.pop();
    for (let at = 0; ; ) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < items.length && Heap.before(items[child], items[least])) least = child;
      if (least === at) return first;
      [items[at], items[least]] = [items[least], items[at]];
      at = least;
    }
  }
}
