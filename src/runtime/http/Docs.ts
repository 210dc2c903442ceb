/**
 * Serves the API's documentation without a key, from bytes that exist once: every reader of a document gets the same
 * buffer. The build leaves them beside the program.
 */
import { Effect } from "effect"
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import type { RawReply, RequestHead } from "../../http/Wire.js"
import type { DocumentFile } from "./DocumentFiles.js"

/** A document as bytes, plain and compressed. */
interface Prepared {
  readonly headers: RawReply["headers"]
  readonly plain: Buffer
  readonly compressed: Buffer
}

const compress = promisify(gzip)
const fixedHeaders = { "cache-control": "no-cache", "x-content-type-options": "nosniff", vary: "accept-encoding" }

const prepare = async ({ headers, text }: DocumentFile): Promise<Prepared> => {
  const plain = Buffer.from(text)
  return { headers: { ...headers, ...fixedHeaders }, plain, compressed: await compress(plain) }
}

/** What the build writes beside the program: in order, the sizes of each document plain and compressed, and the bytes. */
interface BuiltFile extends Pick<DocumentFile, "path" | "headers"> {
  readonly sizes: readonly [plain: number, compressed: number]
}
const indexFile = fileURLToPath(new URL("docs.json", import.meta.url))
const bytesFile = fileURLToPath(new URL("docs.bin", import.meta.url))

const readBuilt = async (): Promise<ReadonlyMap<string, Prepared>> => {
  const [list, all] = await Promise.all([readFile(indexFile, "utf8"), readFile(bytesFile)])
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

/** Without the build's files. */
const makeAll = async (): Promise<ReadonlyMap<string, Prepared>> => {
  const { makeDocumentFiles } = await import("./DocumentFiles.js")
  return new Map(await Promise.all(makeDocumentFiles().map(async (file) => [file.path, await prepare(file)] as const)))
}

const takesGzip = ({ headers }: Pick<RequestHead, "headers">): boolean =>
  (headers["accept-encoding"] ?? "").split(",").some((one) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)|$)/i.test(one))

const replyOf = (request: RequestHead, { compressed, headers, plain }: Prepared): RawReply =>
  takesGzip(request)
    ? { status: 200, headers: { ...headers, "content-encoding": "gzip" }, body: compressed }
    : { status: 200, headers, body: plain }

const documentPath = /^(?:\/docs(?:\/\w+){0,2}|\/api\/v1\/(?:openapi(?:\/[a-z]+)?|(?:connector|flow)\.schema)\.json)$/

export const make = Effect.gen(function* () {
  const documents = yield* Effect.cached(Effect.promise(existsSync(indexFile) ? readBuilt : makeAll))

  /** The reply for this path, `undefined` if there is no such document; no effect for the paths of others. */
  const pageAt = (path: string, request: RequestHead): Effect.Effect<RawReply | undefined> | undefined =>
    documentPath.test(path)
      ? Effect.map(documents, (all) => {
          const found = all.get(path)
          return found === undefined ? undefined : replyOf(request, found)
        })
      : undefined

  return { pageAt }
})
