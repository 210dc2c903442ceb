/**
 * Parses the outputs of a turn. A guest decides how many there are and how deep they nest: large ones are parsed in
 * slices that yield to the event loop, and arguments that nest too deep are replaced by a mark.
 */
import type { Buffer } from "node:buffer"
import type { GuestOutput } from "../../actors/ports/run/Sandbox.js"
import { guest } from "../../domain/Limits.js"

export type Outputs = ReadonlyArray<ReadonlyArray<GuestOutput>>

/** Text up to this size is parsed in one slice. */
const smallBytes = 64 * 1024
const sliceMillis = 4
/** Bytes between two reads of the clock. */
const checkBytes = 64 * 1024
/** Levels around an argument: the list of events, the list of an event's outputs, an output, its arguments. */
const wrapperDepth = 4

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Parses `text`, a JSON array of arrays of outputs, and calls one of the two functions once; before it returns if the
 * text is small.
 */
export const readOutputs = (
  text: Buffer,
  onRead: (outputs: Outputs) => void,
  onMalformed: (cause: unknown) => void
): void => {
  if (text.length <= smallBytes && countBrackets(text) <= wrapperDepth + guest.argumentDepth) {
    // Written by the prelude, which a workflow cannot change: its shape is that of the port.
    return onRead(JSON.parse(text.toString()) as Outputs)
  }
  const reader = new OutputReader(text)
  const proceed = (): void => {
    try {
      if (!reader.read(performance.now() + sliceMillis)) return void setImmediate(proceed)
    } catch (cause) {
      return onMalformed(cause)
    }
    onRead(reader.outputs)
  }
  proceed()
}

/** The number of opening brackets: an upper bound of the depth of the text. */
const countBrackets = (text: Buffer): number => {
  if (text.length <= guest.argumentDepth) return text.length
  let brackets = 0
  for (let i = 0; i < text.length; i++) if (text[i] === openArray || text[i] === openObject) brackets++
  return brackets
}

/** Reads outputs in slices. */
export class OutputReader {
  readonly outputs: Array<Array<GuestOutput>> = []
  private at = 0
  private depth = 0
  private deepest = 0
  private isInText = false
  /** Where the output that is being parsed begins. */
  private start = 0

  constructor(private readonly text: Buffer) {}

  /** Parses until the end of the text or until the time `until`; `true` at the end of the text. */
  read(until: number): boolean {
    const { text } = this
    let nextCheck = this.at + checkBytes
    for (; this.at < text.length; this.at++) {
      if (this.at >= nextCheck) {
        if (performance.now() > until) return false
        nextCheck = this.at + checkBytes
      }
      const byte = text[this.at]
      if (this.isInText) {
        if (byte === backslash) this.at++
        else if (byte === quote) this.isInText = false
      } else if (byte === quote) this.isInText = true
      else if (byte === openArray || byte === openObject) this.open()
      else if (byte === closeArray || byte === closeObject) this.close()
      else if (byte === comma && this.depth === 2) nextCheck = this.readOutput() ? this.at : nextCheck
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
    if (this.depth === 2) this.readOutput()
    this.depth--
  }

  /** Parses the output that ends here; `true` if it was so long that the clock must be read. */
  private readOutput(): boolean {
    const bytes = this.at - this.start
    if (bytes > 0) {
      const output = JSON.parse(this.text.toString("utf8", this.start, this.at)) as GuestOutput
      const tooDeep = this.deepest > wrapperDepth + guest.argumentDepth
      this.outputs.at(-1)?.push(tooDeep && output.t === "call" ? { ...output, args: [], tooDeep } : output)
    }
    this.start = this.at + 1
    this.deepest = 0
    return bytes > checkBytes
  }
}
