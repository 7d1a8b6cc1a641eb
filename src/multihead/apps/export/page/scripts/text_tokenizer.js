// Running text to token ids and back: characters, or byte-level BPE (Radford et al. 2019). Every space is kept.

const WORD_PARTS = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

/** GPT-2's characters for bytes: printable ones stand for themselves, the others follow from U+0100. */
const LETTER_OF_BYTE = (() => {
  const printable = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : next++));
})();
const BYTE_OF_LETTER = new Map(LETTER_OF_BYTE.map((letter, byte) => [letter, byte]));
const lenient = new TextDecoder();

class TextTokenizer extends Tokenizer {
  constructor(made) {
    super({ ...made, kind: "bpe", merges: made.merges ?? [] });
    this.letters = made.kind === "letters";
  }

  encode(text) {
    if (this.letters) return Array.from(text, (letter) => this.ids.get(letter) ?? this.unknown);
    const words = text.match(WORD_PARTS) ?? [];
    return words.flatMap((word) =>
      this.encodeAsLetters(Array.from(encoder.encode(word), (byte) => LETTER_OF_BYTE[byte]).join("")),
    );
  }

  encodeAsLetters(word) {
    let ids = this.words.get(word);
    if (!ids) this.words.set(word, (ids = this.merge(word)));
    return ids;
  }

  /** A character without a piece is unknown. */
  bytes() {
    return [this.unknown];
  }

  decode(ids) {
    const pieces = ids.filter((id) => !this.silent.includes(id)).map((id) => this.pieces[id]);
    if (this.letters) return pieces.join("");
    const bytes = Array.from(pieces.join(""), (letter) => BYTE_OF_LETTER.get(letter) ?? 63);
    return lenient.decode(Uint8Array.from(bytes));
  }
}
