/**
 * Reads the outputs of a turn. A guest chooses how many there are and how deep they nest, so large ones are read in
 * slices, between which the event loop goes on, and arguments that nest too deep are left out.
 */
import type { Buffer } from "node:buffer"
import type { GuestOutput } from "../../actors/ports/Sandbox.js"
import { guest } from "../../domain/Limits.js"

export type Outputs = ReadonlyArray<ReadonlyArray<GuestOutput>>

/** Text up to this size is read at once. */
const smallBytes = 64 * 1024
const sliceMillis = 4
/** Bytes between two looks at the clock. */
const lookBytes = 64 * 1024
/** The list of events, the list of an event's outputs, an output, its arguments. */
const wrapping = 4

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** `text`: a JSON array of arrays of outputs. Calls one of the two functions once, at once where the text is small. */
export const readOutputs = (
  text: Buffer,
  onRead: (outputs: Outputs) => void,
  onBroken: (cause: unknown) => void
): void => {
  if (text.length <= smallBytes && bracketsIn(text) <= wrapping + guest.argumentDepth) {
    // Written by the prelude, and by nothing that a workflow can reach: its shape is that of the port.
    return onRead(JSON.parse(text.toString()) as Outputs)
  }
  const reader = new Reader(text)
  const proceed = (): void => {
    try {
      if (!reader.read(performance.now() + sliceMillis)) return void setImmediate(proceed)
    } catch (cause) {
      return onBroken(cause)
    }
    onRead(reader.outputs)
  }
  proceed()
}

/** At least as many as the text is deep. */
const bracketsIn = (text: Buffer): number => {
  if (text.length <= guest.argumentDepth) return text.length
  let brackets = 0
  for (let i = 0; i < text.length; i++) if (text[i] === openArray || text[i] === openObject) brackets++
  return brackets
}

class Reader {
  readonly outputs: Array<Array<GuestOutput>> = []
  private at = 0
  private depth = 0
  private deepest = 0
  private isInText = false
  /** Where the output begins that is being read. */
  private start = 0

  constructor(private readonly text: Buffer) {}

  /** Goes on until all is read or the time is over; `true` when all is read. */
  read(until: number): boolean {
    const { text } = this
    let look = this.at + lookBytes
    for (; this.at < text.length; this.at++) {
      if (this.at >= look) {
        if (performance.now() > until) return false
        look = this.at + lookBytes
      }
      const byte = text[this.at]
      if (this.isInText) {
        if (byte === backslash) this.at++
        else if (byte === quote) this.isInText = false
      } else if (byte === quote) this.isInText = true
      else if (byte === openArray || byte === openObject) this.open()
      else if (byte === closeArray || byte === closeObject) this.close()
      else if (byte === comma && this.depth === 2) look = this.take() ? this.at : look
    }
    return true
  }

  private open(): void {
    this.depth++
    if (this.depth === 2) {
      this.outputs.push([])
      this.start = this.at + 1
    } else if (this.depth > this.deepest) this.deepest = this.depth
  }

  private close(): void {
    if (this.depth === 2) this.take()
    this.depth--
  }

  /** Reads the output that ends here, and whether that was long enough to look at the clock. */
  private take(): boolean {
    const bytes = this.at - this.start
    if (bytes > 0) {
      const output = JSON.parse(this.text.toString("utf8", this.start, this.at)) as GuestOutput
      const tooDeep = this.deepest > wrapping + guest.argumentDepth
      this.outputs.at(-1)?.push(tooDeep && output.t === "call" ? { ...output, args: [], tooDeep } : output)
    }
    this.start = this.at + 1
    this.deepest = 0
    return bytes > lookBytes
  }
}
