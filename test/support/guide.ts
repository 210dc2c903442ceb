/** The blocks of a guide: what stands after the language says what a block is, `POST /api/v1/connections` for one. */
import { readFileSync } from "node:fs"

export interface Block {
  readonly language: string
  /** Empty: an illustration. */
  readonly what: string
  readonly text: string
  /** Where it stands, for whoever mends it. */
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
