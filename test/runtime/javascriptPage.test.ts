/** docs/javascript.md names exactly the globals and limits that the engine has. */
import { assert } from "@effect/vitest"
import { createContext, runInContext } from "node:vm"
import { readFileSync } from "node:fs"
import { Effect } from "effect"
import { guest } from "../../src/domain/Limits.js"
import { layer as sandboxLayer } from "../../src/runtime/sandbox/Pool.js"
import { result } from "../support/guests.js"
import { bundleRunner } from "../support/sandboxRunner.js"
import { layer } from "../support/layer.js"

const page = readFileSync("docs/javascript.md", "utf8")
const section = (title: string): string => page.split(`## ${title}\n`)[1]?.split("\n## ")[0] ?? ""
/** Names in the first column of a section's table. */
const named = (title: string): ReadonlyArray<string> =>
  section(title)
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => (line.split("|")[1] ?? "").match(/`[A-Za-z]+`/g) ?? [])
    .map((name) => name.slice(1, -1))

/** The globals of the standard, by the engine that runs this test. */
const standard = new Set<string>(
  JSON.parse(runInContext("JSON.stringify(Object.getOwnPropertyNames(globalThis))", createContext()))
)
/** Globals of later editions than that of Node 20, or of the engine only. */
const newer = ["Iterator", "Float16Array", "InternalError"]

const runner = bundleRunner()

layer(sandboxLayer({ runnerPath: runner, runners: 1, spare: false }), { excludeTestServices: true })(
  "docs/javascript.md",
  (it) => {
    it.effect("names every global beyond the standard's, and none that does not exist", () =>
      Effect.gen(function* () {
        const found = yield* result("return Object.getOwnPropertyNames(globalThis)")
        if (!Array.isArray(found)) throw new Error("the guest returned no list")
        const beyond = found.map(String).filter((name) => !standard.has(name) && !newer.includes(name))
        const listed = named("What there is")
        assert.deepStrictEqual(
          beyond.filter((name) => !listed.includes(name) && name !== "console"),
          []
        )
        assert.deepStrictEqual(
          listed.filter((name) => !found.includes(name)),
          []
        )
        const missing = named("What there is not").filter((name) => !["import", "v", "u"].includes(name))
        assert.isAtLeast(missing.length, 10)
        assert.deepStrictEqual(
          missing.filter((name) => found.includes(name)),
          []
        )
        assert.deepStrictEqual(yield* result(`return [eval("1 + 1"), new Function("return 2")()]`), [2, 2])
      })
    )

    it.effect("names the actual limits", () =>
      Effect.sync(() => {
        const bounds = section("Bounds")
        const sizes = [guest.sourceBytes / 1024, guest.memoryBytes / 1024 / 1024, guest.inputBytes / 1024 / 1024]
        for (const size of sizes) assert.include(bounds, `${size} `)
        for (const text of [guest.calls.toLocaleString("en"), String(guest.callsAtOnce)]) assert.include(bounds, text)
      })
    )
  }
)
