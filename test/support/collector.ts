/** An OpenTelemetry collector that keeps every byte, and a search for secrets in all their encodings. */
import { assert } from "vitest"
import { createTestServer } from "./httpServer.js"
import type { AddressInfo } from "node:net"
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib"
import { promised } from "./promises.js"

export interface Collector {
  readonly url: string
  /** The decompressed bodies of requests to the path; without a path, to all paths. */
  readonly received: (path?: string) => string
  readonly close: () => Promise<void>
}

const plain = (encoding: string | undefined, body: Buffer): Buffer => {
  switch (encoding) {
    case "gzip":
      return gunzipSync(body)
    case "deflate":
      return inflateSync(body)
    case "br":
      return brotliDecompressSync(body)
    default:
      return body
  }
}

export const startCollector = async (): Promise<Collector> => {
  const received: Array<{ readonly path: string; readonly text: string }> = []
  const server = createTestServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = plain(request.headers["content-encoding"], Buffer.concat(chunks))
      const path = request.url ?? ""
      received.push({ path, text: `${path} ${JSON.stringify(request.headers)} ${body.toString()}` })
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  // The address of a server that listens on TCP has this type.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    received: (path) =>
      received
        .filter((one) => path === undefined || one.path === path)
        .map(({ text }) => text)
        .join("\n"),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

/**
 * The forms of a value inside longer base64 text at each alignment, without the letters that encode neighbouring bytes
 * too.
 */
const base64Inside = (bytes: Buffer): ReadonlyArray<string> =>
  [0, 1, 2].map((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes])
    const whole = padded.toString("base64").slice(0, Math.floor((padded.length * 8) / 6))
    return whole.slice(Math.ceil((before * 8) / 6))
  })

/** The encodings in which a text may contain a value, by name. */
export const encodingsOf = (value: string): ReadonlyArray<readonly [string, string]> => {
  const bytes = Buffer.from(value)
  const base64 = base64Inside(bytes)
  const json = JSON.stringify(value).slice(1, -1)
  return [
    ["plain", value],
    ["its first half", value.slice(0, Math.ceil(value.length / 2))],
    ...base64.map((text) => ["base64", text] as const),
    ...base64.map((text) => ["base64url", text.replaceAll("+", "-").replaceAll("/", "_")] as const),
    ["hex", bytes.toString("hex")],
    ["HEX", bytes.toString("hex").toUpperCase()],
    ["URL", encodeURIComponent(value)],
    ["URL in URL", encodeURIComponent(encodeURIComponent(value))],
    ["form", new URLSearchParams({ v: value }).toString().slice(2)],
    ["JSON", json],
    ["JSON in JSON", JSON.stringify(json).slice(1, -1)]
  ]
}

/** The occurrences of the values, by the values' names. */
export const findValues = (
  canaries: ReadonlyMap<string, string>,
  places: ReadonlyMap<string, string>
): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (const [name, value] of canaries) {
    const forms = encodingsOf(value)
    for (const [place, all] of places) {
      const form = forms.find(([, text]) => all.includes(text))
      const at = all.indexOf(form?.[1] ?? "")
      if (form !== undefined)
        found.push(`${name} (${form[0]}) in ${place}: …${all.slice(Math.max(0, at - 160), at + 60)}…`)
    }
  }
  return found
}

/** Asserts that no place has one of the values in any encoding. */
export const assertHidden = (
  canaries: ReadonlyMap<string, string>,
  places: ReadonlyMap<string, string>,
  message?: string
): void => {
  const found = findValues(canaries, places)
  promised("a secret is in the clear", () => assert.deepStrictEqual(found, [], message))
}
