/** Whatever a workflow throws is its own error; only exhausted memory is a failure of memory. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { layer as sandboxLayer } from "../../src/runtime/sandbox/Pool.js"
import { effectSandbox, limits, startEvent, errorOf } from "../support/guests.js"
import { bundleRunner } from "../support/sandboxRunner.js"
import { layer } from "../support/layer.js"

const runner = bundleRunner()

const refusals = "const refuse = () => { throw null };"
const bodies: Readonly<Record<string, string>> = {
  null: "throw null",
  undefined: "throw undefined",
  zero: "throw 0",
  "an empty text": "throw ''",
  "a symbol": "throw Symbol('s')",
  "an object without a prototype": "throw Object.create(null)",
  "null after much memory was used and left": "{ const a = new Uint8Array(60e6).fill(1); a.length } throw null",
  "null in a rejection": "await Promise.reject(null)",
  "null in a timer": "setTimeout(() => { throw null }, 0); throw null",
  "a Proxy that refuses every question": `${refusals} throw new Proxy({}, { get: refuse, getPrototypeOf: refuse, ownKeys: refuse, has: refuse, getOwnPropertyDescriptor: refuse })`,
  "a Proxy that was revoked": "const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy",
  "getters that throw":
    "throw { get name() { throw 1 }, get message() { throw null }, get code() { throw 2 }, get stack() { throw 3 }, get data() { throw 4 } }",
  "an argument whose toJSON throws null": "await svc.state.set('k', { toJSON() { throw null } })"
}

layer(sandboxLayer({ runnerPath: runner, runners: 1, spare: false }), { excludeTestServices: true })(
  "a workflow that throws",
  (it) => {
    for (const [name, body] of Object.entries(bodies)) {
      it.effect(`${name} fails with its own error`, () =>
        Effect.map(errorOf(body), ({ name }) => assert.strictEqual(name, "Error"))
      )
    }
    it.effect("null while it loads fails to load", () =>
      Effect.gen(function* () {
        const sandbox = yield* effectSandbox
        const failure = yield* Effect.flip(
          sandbox.start({ key: "org_null:1", script: "throw null" }, limits, startEvent())
        )
        assert.strictEqual(failure._tag, "LoadFailed")
      })
    )
  }
)
