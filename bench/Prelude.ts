/**
 * What the prelude costs in the engine alone, per run and per host call, without any other process: a run that returns
 * at once, runs of three calls of `svc.state.get` (the thinnest host call), and runs of three calls of `fetch` in its
 * usual forms. The difference between the last two is the share of `fetch` itself.
 */
import { Buffer } from "node:buffer"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { makeEngine } from "../src/runtime/sandbox/runner/Engine.js"
import { ProcessorTime } from "../src/runtime/sandbox/runner/Processor.js"
import { Table } from "./support/Table.js"

const wasm = Uint8Array.from(
  readFileSync(createRequire(import.meta.url).resolve("@jitl/quickjs-ng-wasmfile-release-sync/wasm"))
)

const limits = { memoryBytes: 128 * 1024 * 1024, cpuMillis: 2000 }
const rounds = 3
const runs = 3000
const url = "http://127.0.0.1:22504/step?id="

const response = {
  status: 200,
  url: `${url}1&s=1`,
  headers: [
    ["content-type", "application/json"],
    ["date", "Sun, 01 Nov 2026 00:00:00 GMT"],
    ["content-length", "18"]
  ],
  body: '{"id":1,"ok":true}'
}

const threeTimes = (call: string): string => `for (let s = 1; s <= 3; s++) { ${call} }`
const workflows: Readonly<Record<string, readonly [body: string, calls: number, result: unknown]>> = {
  "returns at once": ["", 0, null],
  "3 × svc.state.get": [threeTimes('await svc.state.get("a" + s)'), 3, null],
  "3 × fetch(url)": [threeTimes(`await fetch("${url}" + ctx.input.id + "&s=" + s)`), 3, response],
  "3 × fetch(url), json()": [threeTimes(`await (await fetch("${url}" + s)).json()`), 3, response],
  "3 × fetch(url, POST, headers, body)": [
    threeTimes(
      `await fetch("${url}", { method: "POST", headers: { "content-type": "application/json", authorization: "Bearer a" }, body: JSON.stringify({ s }) })`
    ),
    3,
    response
  ],
  "3 × fetch(url to be normalised)": [threeTimes(`await fetch("HTTPS://API.Example.com/a b/" + s)`), 3, response]
}

const bytesOf = (event: unknown): Buffer => Buffer.from(JSON.stringify(event))
const first = bytesOf({ t: "start", now: 1_700_000_000_000, seed: [1, 2, 3, 4], ctx: { input: { id: "a1" } } })

/** Microseconds of one run. */
const measure = async (body: string, calls: number, result: unknown): Promise<number> => {
  const engine = await makeEngine(wasm, new ProcessorTime(), () => undefined)
  const script = Buffer.from(`globalThis.__workflow = async (ctx) => { ${body}; return 1 }`)
  const { instance, snapshot } = await engine.load(script, limits)
  const results = Array.from({ length: calls }, (_, id) => bytesOf({ t: "done", id, now: 1, ok: true, v: result }))
  const run = (): void => {
    engine.rewind(instance, snapshot)
    engine.limit(instance, limits)
    let answer = engine.step(instance, first)
    for (const event of results) answer = engine.step(instance, event)
    if (answer[0] !== "e".charCodeAt(0)) throw new Error(`the workflow did not end: ${answer.toString()}`)
  }
  for (let i = 0; i < 500; i++) run()
  const best = { micros: Infinity }
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage()
    for (let i = 0; i < runs; i++) run()
    const { system, user } = process.cpuUsage(before)
    best.micros = Math.min(best.micros, (user + system) / runs)
  }
  return best.micros
}

export const prelude = async (): Promise<void> => {
  const rows = new Table("", "µs a run", "µs a call")
  let bare = 0
  for (const [name, [body, calls, result]] of Object.entries(workflows)) {
    const micros = await measure(body, calls, result)
    if (calls === 0) bare = micros
    rows.add(name, micros.toFixed(0), calls === 0 ? "" : ((micros - bare) / calls).toFixed(0))
  }
  rows.print("A run in the engine alone")
}
