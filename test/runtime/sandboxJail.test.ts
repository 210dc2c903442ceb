import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Duplex } from "node:stream"
import { buildSync } from "esbuild"
import { Cause, Effect, Exit, Layer } from "effect"
import { afterAll } from "vitest"
import type { Jail } from "../../src/runtime/jail/Jail.js"
import { jails } from "../../src/runtime/jail/Jail.js"
import { BegunTurn } from "../../src/runtime/sandbox/BegunTurn.js"
import { layer as sandboxLayer } from "../../src/runtime/sandbox/Pool.js"
import { begunTurn } from "../../src/runtime/sandbox/runner/Protocol.js"
import { effectSandbox, result } from "../support/guests.js"
import { eventually } from "../support/eventually.js"
import { bundleRunner } from "../support/sandboxRunner.js"

/** Started instead of a runner: tries what code that has escaped the engine would try, and reports the results. */
const burglar = (port: number): string => `
import net from "node:net"; import fs from "node:fs"; import { execFileSync, spawn } from "node:child_process"; import { Worker } from "node:worker_threads"
const socket = new net.Socket({ fd: 3 }); const seen = {}
const attempt = (name, run) => { try { seen[name] = "DONE " + run() } catch (error) { seen[name] = error.code ?? error.message } }
attempt("shadow", () => fs.readFileSync("/etc/shadow").length); attempt("passwd", () => fs.readFileSync("/etc/passwd").length)
attempt("list", () => fs.readdirSync("/").length); attempt("write", () => fs.writeFileSync("/tmp/svc-burglar", "x")); attempt("exec", () => execFileSync("/bin/true"))
attempt("worker", () => new Worker("1", { eval: true })); attempt("addon", () => process.dlopen({ exports: {} }, "/lib/x.node")); attempt("signal", () => process.kill(${process.pid}, 0))
attempt("evaluate", () => eval("1"))
attempt("fill", () => fs.writeSync(4, "x".repeat(4096), 0)); attempt("append", () => fs.writeSync(4, "x", 4096)); attempt("grow", () => fs.ftruncateSync(4, 4096))
seen.sharedFile = fs.fstatSync(4).size
seen.env = Object.keys(process.env); seen.uid = process.getuid(); seen.pid = process.pid; seen.interfaces = Object.keys((await import("node:os")).networkInterfaces())
const connection = net.connect(${port}, "127.0.0.1"); const tell = (result) => { seen.network = result; socket.end(JSON.stringify(seen)) }
connection.on("connect", () => tell("CONNECTED")); connection.on("error", (error) => tell(error.code))`

const inJail = (jail: Jail, source: string): Promise<Record<string, unknown>> =>
  new Promise((resolve, reject) => {
    const shared = new BegunTurn()
    const child = spawn(jail.command, jail.args, {
      cwd: "/",
      env: { TZ: "UTC" },
      stdio: ["pipe", "ignore", "pipe", "pipe", shared.descriptor]
    })
    shared.close()
    let said = ""
    let complaint = ""
    const socket = child.stdio[3]
    assert.instanceOf(socket, Duplex)
    socket.on("data", (chunk: Buffer) => {
      said += chunk.toString()
    })
    child.stderr?.on("data", (chunk: Buffer) => {
      complaint += chunk.toString()
    })
    child.stdin?.on("error", () => undefined)
    child.stdin?.end(source)
    child.on("error", reject)
    child.on("close", () => (said === "" ? reject(new Error(complaint)) : resolve(JSON.parse(said))))
  })

const isRoot = process.getuid?.() === 0
const server = createServer((socket) => socket.end())
const port = await new Promise<number>((resolve) =>
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    resolve(typeof address === "object" && address !== null ? address.port : 0)
  })
)
afterAll(() => server.close())
const first = (mode: Parameters<typeof jails>[0]): Jail => {
  const [jail] = jails(mode)
  assert(jail !== undefined)
  return jail
}
const withoutFiles = ["shadow", "passwd", "list", "write", "exec", "worker", "addon"]

describe("from inside a runner", () => {
  it.runIf(isRoot)("started by root, nothing of the system is reachable", async () => {
    const seen = await inJail(first("full"), burglar(port))
    for (const what of withoutFiles) assert.notMatch(String(seen[what]), /^DONE/, what)
    assert.match(String(seen["network"]), /ENETUNREACH|EHOSTUNREACH|ECONNREFUSED/)
    assert.deepStrictEqual(seen["interfaces"], [])
    assert.match(String(seen["signal"]), /ESRCH|EPERM/)
    assert.notMatch(String(seen["evaluate"]), /^DONE/)
    assert.deepStrictEqual(seen["env"], ["TZ"])
    assert.notStrictEqual(seen["uid"], 0)
    assert.strictEqual(seen["pid"], 1)
    assert.isAtMost(Number(seen["sharedFile"]), begunTurn.bytes)
  })

  it.runIf(isRoot)("started by an ordinary user, the same in a user namespace", async () => {
    const inner = first("userNamespace")
    const seen = await inJail(
      {
        ...inner,
        command: "setpriv",
        args: ["--reuid=1000", "--regid=1000", "--clear-groups", "--", inner.command, ...inner.args]
      },
      burglar(port)
    )
    for (const what of withoutFiles) assert.notMatch(String(seen[what]), /^DONE/, what)
    assert.match(String(seen["network"]), /ENETUNREACH|EHOSTUNREACH|ECONNREFUSED/)
    assert.deepStrictEqual(seen["interfaces"], [])
    assert.strictEqual(seen["uid"], 1000)
    assert.strictEqual(seen["pid"], 1)
    assert.isAtMost(Number(seen["sharedFile"]), begunTurn.bytes)
    assert.match(String(seen["signal"]), /ESRCH|EPERM/)
  })

  it("without a jail of the system, node's own permission model refuses files, programs and workers", async () => {
    const jail = jails("none").at(-1)
    assert(jail !== undefined)
    const seen = await inJail(jail, burglar(port))
    for (const what of withoutFiles) assert.notMatch(String(seen[what]), /^DONE/, what)
    assert.deepStrictEqual(seen["env"], ["TZ"])
  })
})

describe("the pool", () => {
  const runner = bundleRunner()
  for (const mode of ["userNamespace", "none"] as const) {
    it.effect(`runs workflows in the jail "${mode}" and says so`, () =>
      Effect.gen(function* () {
        const sandbox = yield* effectSandbox
        assert.strictEqual((yield* sandbox.jail).level, mode)
        assert.deepStrictEqual(yield* result("return 6 * 7"), 42)
      }).pipe(Effect.provide(sandboxLayer({ runnerPath: runner, runners: 1, spare: false, jail: mode })))
    )
  }
  it.effect("refuses to start with a runner of another build", () =>
    Effect.gen(function* () {
      const stale = join(mkdtempSync(join(tmpdir(), "svc-stale-")), "runner.js")
      writeFileSync(
        stale,
        readFileSync(runner, "utf8").replace("is not available while the workflow loads", "is missing")
      )
      const exit = yield* Effect.exit(Layer.build(sandboxLayer({ runnerPath: stale, runners: 1, jail: "none" })))
      assert(Exit.isFailure(exit))
      assert.match(Cause.pretty(exit.cause), /built from other sources/)
      rmSync(dirname(stale), { recursive: true })
    }).pipe(Effect.scoped)
  )
})

describe("when the service is killed", () => {
  it("its runners end, also one that hangs in native code", async () => {
    const runner = bundleRunner()
    const wasm = createRequire(import.meta.url).resolve("@jitl/quickjs-ng-wasmfile-release-sync/wasm")
    const directory = mkdtempSync(join(tmpdir(), "svc-parent-"))
    const entry = join(directory, "parent.ts")
    writeFileSync(
      entry,
      `
      import { Effect, ManagedRuntime } from "effect"
      import { Sandbox } from "${process.cwd()}/src/actors/ports/run/Sandbox.js"
      import { layer } from "${process.cwd()}/src/runtime/sandbox/Pool.js"
      let pids = () => []
      const runtime = ManagedRuntime.make(layer({ runnerPath: ${JSON.stringify(runner)}, wasmPath: ${JSON.stringify(wasm)}, runners: 2, spare: true, startsAll: true, onStarted: (started) => { pids = started } }))
      const script = 'globalThis.__workflow = async () => { const a = "a".repeat(2 ** 22); return a.indexOf("a".repeat(2 ** 21) + "b") }'
      const limits = { memoryBytes: 134217728, cpuPerStepMillis: 60000 }
      await runtime.runPromise(Effect.map(Sandbox, (sandbox) => void sandbox.start({ key: "a:b", owner: { account: "a", organisation: "a" }, script }, limits, [{ t: "start", now: 1, seed: [1, 2, 3, 4], ctx: {} }], () => {})))
      const wait = () => pids().length < 3 ? setTimeout(wait, 10) : setTimeout(() => process.stdout.write(pids().join()), 200)
      wait(); setInterval(() => {}, 1000)`
    )
    const path = join(directory, "parent.mjs")
    buildSync({
      entryPoints: [entry],
      bundle: true,
      platform: "node",
      format: "esm",
      outfile: path,
      loader: { ".guest.js": "text" },
      nodePaths: [join(process.cwd(), "node_modules")]
    })
    const parent = spawn(process.execPath, [path], { stdio: ["ignore", "pipe", "inherit"] })
    const pids = await new Promise<ReadonlyArray<number>>((resolve, reject) => {
      parent.stdout.on("data", (chunk: Buffer) => resolve(chunk.toString().split(",").map(Number)))
      parent.on("exit", () => reject(new Error("the service ended before its runners were up")))
    })
    const all = pids.flatMap((pid) => family(pid))
    assert.isAtLeast(all.length, 3)
    assert.isTrue(all.every(alive))
    parent.kill("SIGKILL")
    await eventually(
      async () => all.filter(alive),
      (left) => left.length === 0
    )
    rmSync(directory, { recursive: true })
  })
})

/** A process and all its descendants. */
const family = (pid: number): ReadonlyArray<number> => {
  const below = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim()
  return [pid, ...(below === "" ? [] : below.split(" ").flatMap((child) => family(Number(child))))]
}
const alive = (pid: number): boolean => {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}
