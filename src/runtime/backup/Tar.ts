/** Reads and writes ustar archives of regular files and directories, with relative names. */
import { type FileHandle, open } from "node:fs/promises"

export interface Entry {
  /** Relative, with slashes; a directory's ends with one. */
  readonly name: string
  readonly body: Uint8Array
}

/** An entry of the file's size at its opening: bytes appended meanwhile are left out, missing ones are zeros. */
export async function* fileEntry(name: string, path: string): AsyncGenerator<Uint8Array> {
  const file = await openIfThere(path)
  if (file === undefined) return
  try {
    const { size } = await file.stat()
    yield header(name, size)
    let left = size
    while (left > 0) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(Math.min(left, chunkSize)))
      const part = bytesRead === 0 ? Buffer.alloc(Math.min(left, chunkSize)) : buffer.subarray(0, bytesRead)
      left -= part.length
      yield part
    }
    yield padding(size)
  } finally {
    await file.close()
  }
}

export function* entry({ name, body }: Entry): Generator<Uint8Array> {
  yield header(name, body.length)
  yield body
  yield padding(body.length)
}

/** The end-of-archive marker. */
export const end = (): Uint8Array => Buffer.alloc(2 * block)

/**
 * Passes each entry of an archive to `accept`, which must read the body to its end. Throws if the archive is truncated
 * or damaged, or contains a path outside of it.
 */
export const extract = async (
  archive: AsyncIterable<Uint8Array>,
  accept: (name: string, body: AsyncIterable<Uint8Array>) => Promise<void>
): Promise<void> => {
  const source = new Source(archive)
  while (true) {
    const head = Buffer.concat(await collect(source.take(block)))
    if (head.every((byte) => byte === 0)) return
    if (readNumber(head, 148, 8) !== checksum(head)) throw new Error("it is damaged")
    const name = [text(head, 345, 155), text(head, 0, 100)].filter((part) => part !== "").join("/")
    if (name.startsWith("/") || name.split("/").includes("..")) throw new Error(`it names ${name}`)
    const size = readNumber(head, 124, 12)
    const body = source.take(size)
    await accept(name, body)
    await collect(body)
    await collect(source.take(padding(size).length))
  }
}

const block = 512
const chunkSize = 256 * 1024

const openIfThere = async (path: string): Promise<FileHandle | undefined> => {
  try {
    return await open(path, "r")
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined
    throw cause
  }
}

const header = (name: string, size: number): Buffer => {
  const head = Buffer.alloc(block)
  const cut = name.length <= 100 ? -1 : name.indexOf("/", name.length - 101)
  head.write(name.slice(cut + 1), 0, 100)
  if (cut > 0) head.write(name.slice(0, cut), 345, 155)
  head.write("0000600\0", 100)
  head.write("0000000\0".repeat(2), 108)
  head.write(`${size.toString(8).padStart(11, "0")}\0`, 124)
  head.write("00000000000\0", 136)
  head.write(name.endsWith("/") ? "5" : "0", 156)
  head.write("ustar\x0000", 257)
  head.write(`${checksum(head).toString(8).padStart(6, "0")}\0 `, 148)
  return head
}

const padding = (size: number) => Buffer.alloc((block - (size % block)) % block)

/** The header's checksum, in which the checksum field counts as spaces. */
const checksum = (head: Buffer) => head.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0)

const text = (head: Buffer, at: number, length: number) =>
  head
    .subarray(at, at + length)
    .toString("utf8")
    .replace(/\0.*$/s, "")
const readNumber = (head: Buffer, at: number, length: number) => Number.parseInt(text(head, at, length), 8)

const collect = async (parts: AsyncIterable<Uint8Array>) => {
  const all: Array<Uint8Array> = []
  for await (const part of parts) all.push(part)
  return all
}

/** Reads a stream in chunks of given lengths. */
class Source {
  readonly #parts: AsyncIterator<Uint8Array>
  #rest: Uint8Array = new Uint8Array()

  constructor(archive: AsyncIterable<Uint8Array>) {
    this.#parts = archive[Symbol.asyncIterator]()
  }

  /** The next bytes, once: a second iteration continues where the first stopped. */
  take(length: number): AsyncIterable<Uint8Array> {
    let left = length
    const next = async (): Promise<IteratorResult<Uint8Array>> => {
      if (left === 0) return { done: true, value: undefined }
      while (this.#rest.length === 0) {
        const part = await this.#parts.next()
        if (part.done === true) throw new Error("it is cut off")
        this.#rest = part.value
      }
      const value = this.#rest.subarray(0, left)
      this.#rest = this.#rest.subarray(value.length)
      left -= value.length
      return { done: false, value }
    }
    return { [Symbol.asyncIterator]: () => ({ next }) }
  }
}
