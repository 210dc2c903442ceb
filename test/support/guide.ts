/**
 * Reads the code blocks of a guide. The text after the language says what a block is, e.g. `POST /api/v1/connections`.
 */
import { readFileSync } from "node:fs"

export interface Block {
  readonly language: string
  /** What the block is; empty for an illustration. */
  readonly what: string
  readonly text: string
  /** File and line, for messages. */
  readonly place: string
}

export const blocksOf = (file: string): ReadonlyArray<Block> => {
  const text = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")
  return [...text.matchAll(/^( *)```(\w+)(?: (.+))?\n([^]*?)^ *```$/gm)].map(
    ({ 1: indent = "", 2: language = "", 3: what = "", 4: body = "", index }) => ({
      language,
      what,
      text: body.replace(new RegExp(`^${indent}`, "gm"), ""),
      place: `${file}:${text.slice(0, index).split("\n").length}`
    })
  )
}
