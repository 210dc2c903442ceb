import { assert, describe } from "@effect/vitest"
import { createHash, createHmac } from "node:crypto"
import { runInThisContext } from "node:vm"
import { Effect } from "effect"
import { layer as sandboxLayer } from "../../src/runtime/sandbox/Pool.js"
import { begin, calls, doneEvent, runToEnd, end, result, errorOf } from "../support/guests.js"
import { bundleRunner } from "../support/sandboxRunner.js"
import { layer } from "../support/layer.js"

const runner = bundleRunner()

layer(sandboxLayer({ runnerPath: runner, runners: 1, spare: false }), { excludeTestServices: true })(
  "the globals of a workflow",
  (it) => {
    const alike = (name: string, body: string) =>
      it.effect(name, () =>
        Effect.gen(function* () {
          // The same code must give the same result in Node.
          const here: unknown = yield* Effect.promise(() => runInThisContext(`(async function () { ${body} })()`))
          assert.deepStrictEqual(yield* result(body), JSON.parse(JSON.stringify(here)))
        })
      )

    describe("text and bytes", () => {
      alike(
        "UTF-8 is encoded and decoded as in Node",
        `
      const list = (b) => Array.from(b)
      const bad = [[0xff, 65], [0xe2, 0x82], [0xf0, 0x9f, 0x98, 66], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xef, 0xbb, 0xbf, 97]]
      const fatal = bad.map((b) => { try { return new TextDecoder("utf8", { fatal: true }).decode(new Uint8Array(b)) } catch (e) { return e.name } })
      return [list(new TextEncoder().encode("aé€😀\\ud800")), bad.map((b) => new TextDecoder().decode(new Uint8Array(b))), fatal,
        new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array([0xef, 0xbb, 0xbf, 97])).length, new TextDecoder().decode(new Uint8Array([1, 2, 226, 130, 172]).subarray(2)),
        new TextEncoder().encodeInto("a€b", new Uint8Array(4)), new TextDecoder().encoding]`
      )
      alike(
        "base64",
        `
      const all = String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i))
      const err = (f) => { try { return f() } catch (e) { return e.name } }
      return [btoa(all), atob(btoa(all)) === all, btoa(""), btoa("a"), btoa("ab"), btoa("abc"), atob(" YQ = = "), atob("YWI"), err(() => atob("a")), err(() => atob("a*bc")), err(() => btoa("€"))]`
      )
      alike(
        "structuredClone keeps kinds, cycles and shared parts",
        `
      const shared = { x: 1 }
      const value = { d: new Date(5), m: new Map([[shared, new Set([1, "a"])]]), b: new Uint8Array([1, 2, 3]).subarray(1), f: new Float64Array([1.5]), r: /a+/gi, shared, n: null, u: undefined, big: 10n, e: new RangeError("bad"), a: [1, , 3] }
      value.self = value
      const c = structuredClone(value)
      const err = (v) => { try { structuredClone(v); return "cloned" } catch (e) { return [e.name, e instanceof DOMException] } }
      return [c !== value, c.self === c, c.d instanceof Date, c.d.getTime(), [...c.m.keys()][0] === c.shared, [...[...c.m.values()][0]], Array.from(c.b), c.b.byteOffset, Array.from(c.f), String(c.r), c.shared !== shared,
        "u" in c, String(c.big), c.e instanceof RangeError, c.e.message, 1 in c.a, c.a.length, err(() => 1), err(Symbol("s")), err({ p: Promise.resolve() })]`
      )
    })

    describe("crypto", () => {
      it.effect("hashes and signs as Node does, at every length around a block", () =>
        Effect.gen(function* () {
          const lengths = [0, 1, 3, 55, 56, 63, 64, 65, 111, 112, 119, 127, 128, 129, 1000]
          const algorithms = ["SHA-1", "SHA-256", "SHA-384", "SHA-512"]
          const seen = yield* result(
            `const hex = (b) => Array.from(new Uint8Array(b), (n) => n.toString(16).padStart(2, "0")).join("")
           const out = []
           for (const hash of ctx.algorithms) for (const n of ctx.lengths) {
             const data = Uint8Array.from({ length: n }, (_, i) => i * 7)
             const key = await crypto.subtle.importKey("raw", data.length ? data : new Uint8Array([9]), { name: "HMAC", hash }, false, ["sign", "verify"])
             const mac = await crypto.subtle.sign("HMAC", key, data)
             out.push([hex(await crypto.subtle.digest(hash, data)), hex(mac), await crypto.subtle.verify("HMAC", key, mac, data), await crypto.subtle.verify("HMAC", key, new Uint8Array(mac).fill(1), data)])
           }
           return out`,
            { algorithms, lengths }
          )
          const expected = algorithms.flatMap((algorithm) =>
            lengths.map((n) => {
              const data = Uint8Array.from({ length: n }, (_, i) => i * 7)
              const name = algorithm.replace("-", "").toLowerCase()
              return [
                createHash(name).update(data).digest("hex"),
                createHmac(name, n > 0 ? data : new Uint8Array([9]))
                  .update(data)
                  .digest("hex"),
                true,
                false
              ]
            })
          )
          assert.deepStrictEqual(seen, expected)
        })
      )
      it.effect("crypto.subtle takes a fraction of a step for 16 MiB, also with changed prototypes", () =>
        Effect.gen(function* () {
          const seen = yield* result(`
          const bytes = new Uint8Array(16 * 1024 * 1024).fill(7)
          const key = await crypto.subtle.importKey("raw", new Uint8Array([1, 2]), { name: "HMAC", hash: "SHA-512" }, false, ["sign"])
          Object.getPrototypeOf(Uint8Array.prototype).set = () => { throw new Error("changed") }
          Promise.prototype.then = undefined
          globalThis.ArrayBuffer = globalThis.Uint8Array = undefined
          Uint8ClampedArray.from = Array.from
          const hex = (b) => [...new Int8Array(b)].map((n) => (n & 255).toString(16).padStart(2, "0")).join("")
          return [hex(await crypto.subtle.digest("SHA-256", bytes)), hex(await crypto.subtle.sign("HMAC", key, bytes))]`)
          const bytes = Buffer.alloc(16 * 1024 * 1024, 7)
          assert.deepStrictEqual(seen, [
            createHash("sha256").update(bytes).digest("hex"),
            createHmac("sha512", Buffer.from([1, 2]))
              .update(bytes)
              .digest("hex")
          ])
        })
      )
      it.effect("fills typed arrays of every width, and no more than 65,536 bytes", () =>
        Effect.gen(function* () {
          const seen = yield* result(`
          const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array]
          const spread = kinds.map((K) => { const a = crypto.getRandomValues(new K(64)); const b = new Uint8Array(a.buffer); return new Set(b).size > 32 && b.slice(-8).some((n) => n > 0) })
          const part = new Uint8Array(10); crypto.getRandomValues(part.subarray(4, 6))
          const err = (f) => { try { f(); return "filled" } catch (e) { return e.name } }
          return [spread, part.filter((n, i) => (i < 4 || i > 5) && n !== 0).length, err(() => crypto.getRandomValues(new Uint8Array(65536))), err(() => crypto.getRandomValues(new Uint8Array(65537))),
            err(() => crypto.getRandomValues(new Float32Array(1))), err(() => crypto.getRandomValues([1])), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())]`)
          assert.deepStrictEqual(seen, [
            Array.from({ length: 9 }, () => true),
            0,
            "filled",
            "QuotaExceededError",
            "TypeMismatchError",
            "TypeMismatchError",
            true
          ])
        })
      )
    })

    describe("timers", () => {
      it.effect("are host calls, can be cleared, repeat until cleared, and pass their arguments", () =>
        Effect.gen(function* () {
          const { ended, made } = yield* runToEnd(
            `
          const seen = []
          const id = setTimeout(() => seen.push("cleared"), 5); clearTimeout(id)
          let n = 0
          await new Promise((resolve) => { const every = setInterval((by) => { n += by; if (n === 6) { clearInterval(every); resolve() } }, 20, 2) })
          queueMicrotask(() => seen.push("micro")); await null; await null
          await new Promise((r) => setTimeout(r))
          return [seen, n, Date.now() > 0]`,
            () => ({ ok: true, v: null })
          )
          assert.deepStrictEqual(ended, { t: "ret", v: [["micro"], 6, true] })
          assert.deepStrictEqual(
            made.map(({ args, name }) => [name, args[0]]),
            [
              ["timer.sleep", 5],
              ["timer.sleep", 20],
              ["timer.sleep", 20],
              ["timer.sleep", 20],
              ["timer.sleep", 0]
            ]
          )
        })
      )
    })

    describe("fetch", () => {
      const answer = {
        status: 201,
        statusText: "Created",
        url: "https://a.b/x",
        headers: [
          ["Content-Type", "application/json"],
          ["Set-Cookie", "a=1"],
          ["set-cookie", "b=2"]
        ],
        bodyBase64: Buffer.from(`{"é":1}`).toString("base64")
      }
      it.effect("makes one host call, whose answer is a Response", () =>
        Effect.gen(function* () {
          const { ended, made } = yield* runToEnd(
            `
          const r = await fetch("https://a.b/x?y=ü", { method: "post", headers: { "X-One": " 1 ", Accept: "a" }, body: JSON.stringify({ a: 1 }) })
          const copy = r.clone(); const bytes = await r.clone().bytes(); const buffer = await r.clone().arrayBuffer()
          const again = async () => { try { await r.text(); return "read twice" } catch (e) { return e.name } }
          return [r.ok, r.status, r.statusText, r.url, r.headers.get("content-type"), r.headers.getSetCookie(), await r.json(), await copy.text(), bytes.length, buffer.byteLength, await again(), r instanceof Response]`,
            () => ({ ok: true, v: answer })
          )
          assert.deepStrictEqual(made, [
            {
              name: "fetch",
              args: [
                {
                  url: "https://a.b/x?y=ü",
                  method: "POST",
                  // As written: the host normalises them.
                  headers: [
                    ["X-One", " 1 "],
                    ["Accept", "a"],
                    ["content-type", "text/plain;charset=UTF-8"]
                  ],
                  body: `{"a":1}`
                }
              ]
            }
          ])
          assert.deepStrictEqual(ended, {
            t: "ret",
            v: [
              true,
              201,
              "Created",
              "https://a.b/x",
              "application/json",
              ["a=1", "b=2"],
              { é: 1 },
              `{"é":1}`,
              8,
              8,
              "TypeError",
              true
            ]
          })
        })
      )
      it.effect("sends bytes as base64, forms, and stops waiting when aborted", () =>
        Effect.gen(function* () {
          const turn = yield* begin(`
          const control = new AbortController()
          const gone = fetch("https://a.b/1", { method: "PUT", body: new Uint8Array([1, 2, 3]), signal: control.signal }).catch((e) => [e.name, e instanceof DOMException])
          const form = fetch(new Request("https://a.b/2", { method: "POST", body: new URLSearchParams({ a: "b c" }) }))
          control.abort()
          const body = async () => { try { await fetch("https://a.b", { body: "x" }); return "sent" } catch (e) { return e.message } }
          return [await gone, (await form).status, await body()]`)
          assert.deepStrictEqual(
            calls(turn).map(({ args }) => args[0]),
            [
              { url: "https://a.b/1", method: "PUT", headers: [], body: null, bodyBase64: "AQID" },
              {
                url: "https://a.b/2",
                method: "POST",
                headers: [["content-type", "application/x-www-form-urlencoded;charset=UTF-8"]],
                body: "a=b+c"
              }
            ]
          )
          const ended = end(yield* turn.session.feed([doneEvent(1, answer)]))
          assert.deepStrictEqual(ended, { t: "ret", v: [["AbortError", true], 201, "a GET request has no body"] })
        })
      )
      it.effect("4 MiB of text or bytes, sent and received, stay within the time of a step", () =>
        Effect.gen(function* () {
          const text = "é".repeat(2 * 1024 * 1024)
          const turn = yield* begin(`
          const r = await fetch("https://a.b/x", { method: "POST", body: "é".repeat(2 * 1024 * 1024) }); const t = await r.text()
          const b = await (await fetch("https://a.b/y")).bytes()
          await fetch("https://a.b/z", { method: "POST", body: b })
          return [t.length, t[0], b.length, b[4194303]]`)
          const back = yield* turn.session.feed([doneEvent(0, { ...answer, bodyBase64: "", body: text })])
          const bytes = yield* back.session.feed([
            doneEvent(1, { ...answer, bodyBase64: Buffer.alloc(4 * 1024 * 1024, 7).toString("base64") })
          ])
          const [sent] = calls(bytes)
          assert.deepInclude(sent?.args[0], { bodyBase64: Buffer.alloc(4 * 1024 * 1024, 7).toString("base64") })
          const last = yield* bytes.session.feed([doneEvent(2, answer)])
          assert.deepStrictEqual(end(last), { t: "ret", v: [2 * 1024 * 1024, "é", 4 * 1024 * 1024, 7] })
        })
      )
    })

    describe("svc", () => {
      it.effect("every service is a host call of its name", () =>
        Effect.gen(function* () {
          const { made } = yield* runToEnd(
            `
          await ctx.connectors["acme-crm"].contact.list(); await svc.unified.crm.contact.list({ a: 1 })
          await svc.state.set("k", 1, { scope: "ORG" }); await svc.state.delete("k"); await svc.state.increment("k", 2); await svc.state.compareAndSet("k", 1, 2)
          await svc.secrets.get("S"); await svc.envConfig.get("E", "d"); await svc.diff.compare({}); await svc.sync.upsert([1])
          const rows = await svc.db.query("select 1", [2])
          return [rows, rows.rowCount, Object.keys(rows)]`,
            (name) => ({ ok: true, v: name === "db.query" ? { rows: [{ a: 1 }], rowCount: 1, fields: [] } : null }),
            { input: {} }
          )
          assert.deepStrictEqual(
            made.map(({ name }) => name),
            [
              "connector.acme-crm.contact.list",
              "unified.crm.contact.list",
              "state.set",
              "state.delete",
              "state.increment",
              "state.compareAndSet",
              "secrets.get",
              "envConfig.get",
              "diff.compare",
              "sync.upsert",
              "db.query"
            ]
          )
        })
      )
      it.effect("a missing argument is an error that names it", () =>
        Effect.gen(function* () {
          assert.match(
            (yield* errorOf("await svc.states.get('x')")).message,
            /svc\.states does not exist: svc has connector, connectors, unified/
          )
          assert.match(
            (yield* errorOf("await svc.state.put('x')")).message,
            /svc\.state\.put does not exist: svc\.state has get, set/
          )
          assert.match((yield* errorOf("await svc.db.transaction([])")).message, /takes a function/)
          assert.match((yield* errorOf("svc.state = 1")).message, /svc cannot be changed/)
          assert.match((yield* errorOf("globalThis.svc = 1")).message, /read-only/)
        })
      )
    })

    it.effect(
      "a global that does not exist is undefined to typeof, and its use is an error that names a replacement",
      () =>
        Effect.gen(function* () {
          const absent = [
            "Intl",
            "Buffer",
            "require",
            "process",
            "WebAssembly",
            "SharedArrayBuffer",
            "Atomics",
            "WeakRef",
            "FinalizationRegistry",
            "performance",
            "XMLHttpRequest"
          ]
          assert.deepStrictEqual(
            yield* result(`return [${absent.map((name) => `typeof ${name}`).join()}]`),
            absent.map(() => "undefined")
          )
          for (const name of absent) {
            const error = yield* errorOf(`${name}.anything()`)
            assert.strictEqual(error.name, "ReferenceError")
            assert.match(
              error.message,
              new RegExp(`^${name} does not exist in a workflow: .*use|^${name} does not exist in a workflow: `)
            )
          }
          for (const what of ["fs", "node:fs", "./x.js", "data:text/javascript,1"]) {
            assert.match(
              (yield* errorOf(`await import(${JSON.stringify(what)})`)).message,
              /^import\(\) does not exist in a workflow/
            )
          }
        })
    )
  }
)
