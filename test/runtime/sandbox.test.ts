import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { GuestEvent } from "../../src/actors/ports/run/Sandbox.js"
import { layer as sandboxLayer } from "../../src/runtime/sandbox/Pool.js"
import {
  effectSandbox,
  begin,
  calls,
  doneEvent,
  runToEnd,
  end,
  failedEvent,
  lastOutputs,
  limits,
  program,
  result,
  startEvent,
  errorOf
} from "../support/guests.js"
import { bundleRunner } from "../support/sandboxRunner.js"
import { layer } from "../support/layer.js"

const runner = bundleRunner()

layer(sandboxLayer({ runnerPath: runner, runners: 1, spare: false }), { excludeTestServices: true })(
  "sandbox",
  (it) => {
    describe("the same events give the same outputs", () => {
      const body = `
      const first = [Date.now(), new Date().toISOString(), Date(), Math.random(), crypto.randomUUID(),
        Array.from(crypto.getRandomValues(new Uint16Array(4)))]
      const [a, b] = await Promise.all([svc.connector.crm.list({ page: 1 }), svc.connectors.mail.send({ to: "x" }, { alias: "m" })])
      const race = await Promise.race([svc.state.get("k"), new Promise((r) => setTimeout(() => r("late"), 5000))])
      return { first, a, b, race, now: Date.now(), random: Math.random() }`
      const history: ReadonlyArray<GuestEvent> = [
        doneEvent(1, "mail", 1_700_000_000_500),
        doneEvent(0, ["crm"], 1_700_000_000_600),
        doneEvent(3, null, 1_700_000_000_700)
      ]
      it.effect("delivered one by one or replayed at once, on a used or a new guest", () =>
        Effect.gen(function* () {
          const sandbox = yield* effectSandbox
          let turn = yield* sandbox.start(program(body), limits, startEvent())
          const oneByOne = [...turn.outputs]
          for (const event of history) {
            turn = yield* turn.session.feed([event])
            oneByOne.push(...turn.outputs)
          }
          const replayed = yield* sandbox.start(program(body), limits, startEvent(), history)
          assert.deepStrictEqual(replayed.outputs, oneByOne)
          const elsewhere = yield* sandbox.start(program(body, "org_other"), limits, startEvent(), history)
          assert.deepStrictEqual(elsewhere.outputs, oneByOne)
          assert.deepStrictEqual(
            calls(replayed).map(({ args, id, name }) => [id, name, args]),
            [
              [0, "connector.crm.list", [{ page: 1 }]],
              [1, "connector.mail.send", [{ to: "x" }, { alias: "m" }]],
              [2, "state.get", ["k"]],
              [3, "timer.sleep", [5000]]
            ]
          )
          const ended = end(replayed)
          assert(ended?.t === "ret")
          assert.nestedPropertyVal(ended.v, "race", "late")
          assert.nestedPropertyVal(ended.v, "now", 1_700_000_000_700)
          assert.nestedPropertyVal(ended.v, "first[1]", "2023-11-14T22:13:20.000Z")
        })
      )
      it.effect("another seed gives other random numbers", () =>
        Effect.gen(function* () {
          const sandbox = yield* effectSandbox
          const other: GuestEvent = { t: "start", now: 1, seed: [5, 6, 7, 8], ctx: {} }
          const again = program("return [Math.random(), crypto.randomUUID()]")
          const one = end(yield* sandbox.start(again, limits, startEvent()))
          const two = end(yield* sandbox.start(again, limits, other))
          assert(one?.t === "ret" && two?.t === "ret")
          assert.notDeepEqual(one.v, two.v)
        })
      )
    })

    describe("a host call that failed", () => {
      const error = {
        name: "ConnectorError",
        message: "no such contact",
        code: "PROVIDER",
        data: { status: 404, body: { id: 7 }, retryable: false }
      }
      it.effect("is an Error with its name, message, code and members", () =>
        Effect.gen(function* () {
          const { ended } = yield* runToEnd(
            `try { await svc.connector.crm.get({ id: 7 }) } catch (e) {
             return [e instanceof Error, e instanceof ConnectorError, e.name, e.message, e.code, e.status, e.body.id, e.retryable, String(e)] }`,
            () => ({ ok: false, e: error })
          )
          assert.deepStrictEqual(ended, {
            t: "ret",
            v: [
              true,
              true,
              "ConnectorError",
              "no such contact",
              "PROVIDER",
              404,
              7,
              false,
              "ConnectorError: no such contact"
            ]
          })
        })
      )
      it.effect("keeps code and data when the workflow rethrows it", () =>
        Effect.gen(function* () {
          for (const e of [
            error,
            { ...error, data: "plain" },
            { ...error, data: [1] },
            { name: "SecretNotFound", message: "m" }
          ]) {
            const { ended } = yield* runToEnd(`await svc.connector.crm.get()`, () => ({ ok: false, e }))
            assert(ended.t === "throw")
            const { stack: _, ...rest } = ended.e
            assert.deepStrictEqual(rest, e)
          }
        })
      )
    })

    describe("what a workflow returns and throws", () => {
      it.effect("is JSON, or an error that says why it is not", () =>
        Effect.gen(function* () {
          assert.isNull(yield* result("return undefined"))
          assert.deepEqual(yield* result("return { a: undefined, d: new Date(0), n: NaN }"), {
            d: "1970-01-01T00:00:00.000Z",
            n: null
          })
          assert.match((yield* errorOf("return { n: 1n }")).message, /result cannot be sent as JSON.*BigInt/)
          assert.match(
            (yield* errorOf("const a = {}; a.a = a; return a")).message,
            /result cannot be sent as JSON.*circular/
          )
          assert.match(
            (yield* errorOf("await svc.state.set('k', 1n)")).message,
            /argument 2 of state.set cannot be sent as JSON/
          )
          assert.deepInclude(yield* errorOf("throw 'just text'"), { name: "Error", message: "just text" })
          assert.deepInclude(yield* errorOf("throw { code: 'X', status: 3 }"), {
            name: "Error",
            code: "X",
            data: { status: 3 }
          })
          const { stack } = yield* errorOf("const inner = () => { throw new TypeError('x') }\ninner()")
          assert.match(stack ?? "", /at inner \(workflow\.js:2:/)
          assert.notInclude(stack ?? "", "svc:")
        })
      )
      it.effect("an unhandled throw in a timer ends the run", () =>
        Effect.gen(function* () {
          const turn = yield* begin(
            "setTimeout(() => { throw new Error('in timer') }, 10); await new Promise(() => {})"
          )
          const ended = end(yield* turn.session.feed([doneEvent(0, null)]))
          assert(ended?.t === "throw")
          assert.strictEqual(ended.e.message, "in timer")
        })
      )
      it.effect("a workflow that waits for no event makes no call and does not end", () =>
        Effect.gen(function* () {
          assert.deepStrictEqual((yield* begin("await new Promise(() => {})")).outputs, [[]])
          const waiting = yield* begin("await svc.state.get('k'); await new Promise(() => {})")
          assert.deepStrictEqual((yield* waiting.session.feed([doneEvent(0, null)])).outputs, [[]])
        })
      )
      it.effect("after the end further events are not delivered, and the session is closed", () =>
        Effect.gen(function* () {
          const turn = yield* begin("const v = await Promise.race([svc.state.get('a'), svc.state.get('b')]); return v")
          const last = yield* turn.session.feed([doneEvent(1, "b"), doneEvent(0, "a")])
          assert.strictEqual(last.outputs.length, 1)
          assert.deepStrictEqual(lastOutputs(last), [{ t: "ret", v: "b" }])
          assert.deepInclude(yield* Effect.flip(turn.session.feed([doneEvent(0, "a")])), {
            _tag: "SessionLost",
            reason: "closed"
          })
          yield* turn.session.close
        })
      )
    })

    describe("a program that cannot be loaded", () => {
      const load = (script: string) =>
        Effect.flatMap(effectSandbox, (sandbox) =>
          Effect.flip(sandbox.start({ key: `org_load:${script}`, script }, limits, startEvent()))
        )
      it.effect("fails with what is wrong", () =>
        Effect.gen(function* () {
          assert.deepInclude(yield* load("const = 1"), { _tag: "LoadFailed", name: "SyntaxError" })
          assert.deepInclude(yield* load("throw new RangeError('no')"), {
            _tag: "LoadFailed",
            name: "RangeError",
            message: "no"
          })
          assert.match(String(yield* load("1")), /sets no workflow/)
          assert.match(
            String(yield* load("globalThis.__workflow = async () => 1; svc.state.get('x')")),
            /LoadFailed|not available while/
          )
          assert.match(
            String(yield* load("const id = crypto.randomUUID()")),
            /randomUUID is not available while the workflow loads/
          )
          assert.match(
            String(yield* load("const at = Date.now()")),
            /the time is not available while the workflow loads/
          )
        })
      )
    })

    describe("no run sees another", () => {
      it.effect("globals, prototypes and variables are those of a new guest", () =>
        Effect.gen(function* () {
          const body = `
          const before = [typeof globalThis.leak, {}.polluted, [].evil, typeof JSON.stringify, String(Promise.resolve().then.name), globalThis.count]
          globalThis.leak = ctx.input; globalThis.count = (globalThis.count ?? 0) + 1
          Object.prototype.polluted = "yes"; Array.prototype.evil = 1
          JSON.stringify = () => "hijacked"; JSON.parse = () => { throw 1 }; Promise.prototype.then = function then2() {}
          return before`
          for (let i = 0; i < 5; i++) {
            assert.deepStrictEqual(yield* result(body, { input: i }), [
              "undefined",
              null,
              null,
              "function",
              "then",
              null
            ])
          }
        })
      )
      it.effect("changed built-ins break neither outputs nor protocol", () =>
        Effect.gen(function* () {
          const { ended, made } = yield* runToEnd(
            `
          const steal = []
          Object.defineProperty(Array.prototype, 0, { set(v) { steal.push(v) }, configurable: true })
          Array.prototype.toJSON = () => "a"; Object.prototype.toJSON = () => "o"; String.prototype.toJSON = () => "s"
          Object.prototype.then = undefined; Object.prototype.get = () => "got"; Object.prototype.value = "v"; Object.prototype.data = "d"
          Array.prototype[Symbol.iterator] = () => { throw new Error("iterated") }
          Array.prototype.push = Array.prototype.map = Array.prototype.join = () => "x"
          String.prototype.slice = String.prototype.indexOf = String.prototype.toWellFormed = () => "x"
          Map.prototype.get = Map.prototype.set = Map.prototype.delete = () => undefined
          Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => () => "y"
          Reflect.apply = Reflect.construct = Reflect.defineProperty = () => "z"
          JSON.stringify = JSON.parse = () => "j"; Object.keys = () => []; Object.hasOwn = () => false
          globalThis.Promise = undefined; globalThis.TypeError = undefined; globalThis.Error = undefined
          console.log("still here")
          const value = await svc.connector.crm.get(7, "text")
          try { await svc.state.get("missing") } catch (e) { return value + e.code + e.status }`,
            (name) =>
              name === "state.get"
                ? { ok: false, e: { name: "X", message: "m", code: "C", data: { status: 1 } } }
                : { ok: true, v: "value" }
          )
          assert.deepStrictEqual(made, [
            { name: "connector.crm.get", args: [7, "text"] },
            { name: "state.get", args: ["missing"] }
          ])
          assert.deepStrictEqual(ended, { t: "ret", v: "valueC1" })
        })
      )
    })

    it.effect("logs arrive in order, with their level, cut at the maximum length", () =>
      Effect.gen(function* () {
        const turn = yield* begin(
          "console.log('a', { b: 1 }, [2], undefined, 3n); console.warn('w'.repeat(9000)); console.error(new TypeError('bad')); console.debug(Symbol('s')); return 1"
        )
        const lines = turn.outputs
          .flat()
          .flatMap((output) => (output.t === "log" ? [[output.level, output.m] as const] : []))
        assert.deepStrictEqual(lines[0], ["info", `a {"b":1} [2] undefined 3n`])
        assert.strictEqual(lines[1]?.[1].length, 8192)
        assert.match(lines[2]?.[1] ?? "", /^TypeError: bad\n/)
        assert.deepStrictEqual(lines[3], ["debug", "a symbol"])
        assert.strictEqual(lastOutputs(turn).at(-1)?.t, "ret")
      })
    )

    it.effect("a failed call gives the same error after any kind of error of the prelude", () =>
      Effect.gen(function* () {
        const turn = yield* begin(
          "try { await svc.state.get('x') } catch (e) { return [e instanceof TypeError, e.name] }"
        )
        const ended = end(yield* turn.session.feed([failedEvent(0, { name: "TypeError", message: "m" })]))
        assert.deepStrictEqual(ended, { t: "ret", v: [true, "TypeError"] })
      })
    )
  }
)
