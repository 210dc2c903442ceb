/**
 * Files that the build leaves beside the program, plain and compressed: a list, and one file of all bytes. They exist once
 * in memory: every reader of a file gets the same buffer.
 */
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import type { RawReply, RequestHead } from "../../http/Wire.js"

/** A file as bytes, plain and compressed. */
export interface Prepared {
  readonly headers: RawReply["headers"]
  readonly plain: Buffer
  readonly compressed: Buffer
}

/** In order, the sizes of each file plain and compressed. */
interface BuiltFile {
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly sizes: readonly [plain: number, compressed: number]
}

/** Headers that all such files have. */
export const fixedHeaders = { vary: "accept-encoding" }

/** What is shown instead of pages that the build makes. `noun`: what they are. */
export const notBuiltText = (noun: string): string => `The ${noun} is not part of this build: run \`npm run build\`.`

/** The reply with this text. */
export const notBuiltReply = (noun: string): RawReply => ({
  status: 404,
  headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
  body: notBuiltText(noun)
})

/** Where the build leaves the list of `name`. */
const builtList = (name: string): string => fileURLToPath(new URL(`${name}.json`, import.meta.url))

/** The files of `name` by their paths; `undefined` where the program was not built, as in tests. */
export const readBuilt = async (name: string): Promise<ReadonlyMap<string, Prepared> | undefined> => {
  if (!existsSync(builtList(name))) return undefined
  const bytesFile = fileURLToPath(new URL(`${name}.bin`, import.meta.url))
  const [list, all] = await Promise.all([readFile(builtList(name), "utf8"), readFile(bytesFile)])
  const files: ReadonlyArray<BuiltFile> = JSON.parse(list)
  let at = 0
  const take = (size: number) => all.subarray(at, (at += size))
  return new Map(
    files.map(({ headers, path, sizes: [plain, compressed] }) => [
      path,
      { headers: { ...headers, ...fixedHeaders }, plain: take(plain), compressed: take(compressed) }
    ])
  )
}

const takesGzip = ({ headers }: Pick<RequestHead, "headers">): boolean =>
  (headers["accept-encoding"] ?? "").split(",").some((one) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)|$)/i.test(one))

export const replyOf = (request: RequestHead, { compressed, headers, plain }: Prepared): RawReply =>
  takesGzip(request)
    ? { status: 200, headers: { ...headers, "content-encoding": "gzip" }, body: compressed }
    : { status: 200, headers, body: plain }
