/** Keeps the beginning and the end of an output of any length in bounded memory and says how much lies between. */
import { StringDecoder } from 'node:string_decoder';

export class OutputCap {
  readonly #headMax: number;
  readonly #tailMax: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #dropped = 0;

  /** `bytesMax`: what is kept in all, the note not counted. */
  constructor(bytesMax: number) {
    this.#headMax = Math.ceil(bytesMax / 2);
    this.#tailMax = Math.max(1, Math.floor(bytesMax / 2));
  }

  push(chunk: Buffer): void {
    const toHead = chunk.subarray(0, this.#headMax - this.#headBytes);
    if (toHead.length > 0) this.#head.push(toHead);
    this.#headBytes += toHead.length;
    const rest = chunk.subarray(toHead.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    this.#trim();
  }

  /** Whole chunks are dropped, and the last one is cut where it begins too early. */
  #trim(): void {
    for (let first = this.#tail[0]; first && this.#tailBytes > this.#tailMax; first = this.#tail[0]) {
      const excess = Math.min(first.length, this.#tailBytes - this.#tailMax);
      this.#dropped += excess;
      this.#tailBytes -= excess;
      if (excess === first.length) this.#tail.shift();
      else this.#tail[0] = first.subarray(excess);
    }
  }

  text(): string {
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (this.#dropped === 0) return Buffer.concat([head, tail]).toString('utf8');
    const from = firstWholeCharacter(tail);
    // A decoder that isn't ended keeps half a character to itself.
    const start = new StringDecoder('utf8').write(head);
    return `${start}\n… ${this.#dropped + from} bytes left out …\n${tail.subarray(from).toString('utf8')}`;
  }
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Where the first character begins whose every byte is there. */
const firstWholeCharacter = (bytes: Buffer): number => {
  const at = [0, 1, 2, 3].find((index) => !isContinuation(bytes[index]));
  return at ?? 0;
};

/** The text, or its beginning and end with a note in between where it is longer than that. */
export const capText = (text: string, bytesMax: number): string => {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= bytesMax) return text;
  const cap = new OutputCap(bytesMax);
  cap.push(bytes);
  return cap.text();
};
