/**
 * What `npm pack` packs is a client that other services use: it compiles in a project of its own under `strict`, with the
 * blocks of docs/rpc.md, and it runs there alone, as the blocks and the example show, against a real service.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ChildProcess, execFile, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { startSharedCalls, stopCalls, svc, workflow } from "../support/calls.js"
import { blocksOf } from "../support/guide.js"

const root = fileURLToPath(new URL("../..", import.meta.url))
const project = fs.mkdtempSync(path.join(os.tmpdir(), "svc-rpc-"))
const installed = path.join(project, "node_modules/svc")
const run = promisify(execFile)
const blocks = blocksOf("docs/rpc.md")

/** What a project has beside the package: what the client takes, and the types of Node. */
const dependencies = ["effect", "@effect/rpc", "@effect/platform", "ws", "@types/node", "undici-types"]

let environment: NodeJS.ProcessEnv = {}
const running = new Set<ChildProcess>()

/** Installs the files of the package that its export needs. */
const install = async () => {
  await run(process.execPath, [path.join(root, "scripts/rpcTypes.mjs")])
  // What a run of the tests leaves is no part of the package.
  fs.mkdirSync(path.join(root, "dist/test"), { recursive: true })
  fs.writeFileSync(path.join(root, "dist/test/left.js"), "")
  const packed = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root })
  const [{ files }]: [{ readonly files: ReadonlyArray<{ readonly path: string }> }] = JSON.parse(packed.stdout)
  const names = files.map((file) => file.path)
  assert.includeMembers(names, ["bin/svc", "dist/svc.js", "docs/rpc.md", "examples/rpc/orders.mjs"])
  for (const part of [".map", "dist/test/"]) assert.notInclude(names.join(), part)
  for (const name of names.filter((one) => /^(?:package\.json$|dist\/rpc[./]|examples\/)/.test(one))) {
    fs.mkdirSync(path.dirname(path.join(installed, name)), { recursive: true })
    fs.copyFileSync(path.join(root, name), path.join(installed, name))
  }
  for (const name of dependencies) {
    const target = path.join(project, "node_modules", name)
    fs.mkdirSync(path.dirname(target), { recursive: true })
    fs.symlinkSync(path.join(root, "node_modules", name), target)
  }
}

const write = (name: string, text: string) => fs.writeFileSync(path.join(project, name), text)

beforeAll(async () => {
  write("package.json", JSON.stringify({ name: "orders", type: "module" }))
  await Promise.all([install(), startSharedCalls()])
  const { baseUrl } = await svc.listen()
  const id = await workflow("return { hello: ctx.input.name ?? ctx.input.number }")
  environment = { PATH: process.env["PATH"], SVC_KEY: svc.first.key, SVC_URL: baseUrl, SVC_WORKFLOW: id }
})
afterAll(async () => {
  for (const child of running) child.kill("SIGKILL")
  await stopCalls()
  fs.rmSync(project, { recursive: true, force: true })
})

/** What the types must accept, and what they must refuse. */
const uses = `
import { Effect, Stream } from "effect"
import { connect, type FailureOf, Failures, makeClient, type RpcFailure, SvcMethods, type WatchItem } from "svc/rpc"

export const promises = async () => {
  const svc = await connect({ url: "http://127.0.0.1:1", key: "k", customer: "ref:a", patience: "5 seconds" })
  const { executionId, output } = await svc.executions.run({ workflowId: "wf_1", input: { a: [1, null] } })
  const text: string = executionId
  // @ts-expect-error -- An output may be any JSON.
  output.trim()
  // @ts-expect-error -- A start names a workflow.
  await svc.executions.start({ input: {} })
  // @ts-expect-error -- There is no such status.
  await svc.executions.list({ status: "gone" })
  const { data } = await svc.connections.list({ status: "active", page_size: 5 }, { signal: AbortSignal.timeout(5) })
  const labels: ReadonlyArray<string> = data.map(({ label }) => label)
  for await (const item of svc.events.watch()) if (item._tag === "Many") return [text, labels, item.count]
  await svc.close()
  return []
}
export const limited = (failure: RpcFailure): failure is FailureOf<"RateLimited"> => failure instanceof Failures.RateLimited
export const effects: Effect.Effect<WatchItem["_tag"], Exclude<RpcFailure, { _tag: "NotFound" }>> = Effect.gen(function* () {
  const svc = yield* makeClient({ url: "http://127.0.0.1:1", key: "k" })
  yield* svc.tenants.get({ id: "ref:a" }).pipe(Effect.catchTag("NotFound", ({ requestId }) => Effect.succeed(requestId)))
  yield* svc.executions.watch().pipe(Stream.take(1), Stream.runDrain)
  return "Gap" as const
}).pipe(Effect.scoped, Effect.catchTag("NotFound", Effect.die))
export const names: ReadonlyArray<string> = [...SvcMethods.requests.keys()]
`

it("compiles under strict, libraries included, with every block of docs/rpc.md", async () => {
  write("uses.ts", uses)
  assert.isAtLeast(blocks.length, 5)
  const typed = blocks.filter(({ language }) => language === "ts")
  assert.lengthOf(typed, blocks.length)
  typed.forEach(({ text }, at) => write(`block${at}.ts`, text))
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    module: "NodeNext",
    target: "ES2022",
    types: ["node"],
    noEmit: true
  }
  write("tsconfig.json", JSON.stringify({ compilerOptions, include: ["*.ts"] }))
  const compiled = await run(
    process.execPath,
    [path.join(root, "node_modules/typescript/bin/tsc"), "--pretty", "false"],
    {
      cwd: project
    }
  ).catch(({ stdout }: { readonly stdout: string }) => ({ stdout }))
  assert.strictEqual(compiled.stdout, "")
})

it("takes no other package than those it names", () => {
  const text = fs.readFileSync(path.join(installed, "dist/rpc.js"), "utf8")
  const imported = [...text.matchAll(/(?:from |import |import\(|require\()\s*"([^"]+)"/g)].map(([, name]) => name)
  assert.sameMembers([...new Set(imported)], ["effect", "@effect/rpc", "ws"])
  const { dependencies: declared } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"))
  // The library for the wire takes @effect/platform from whoever takes it.
  assert.containsAllKeys(declared, ["effect", "@effect/rpc", "@effect/platform", "ws"])
})

describe("docs/rpc.md", () => {
  const shown = blocks.filter(({ what }) => what === "run")
  const outputs = [
    /^completed { hello: 'Ada' }$/,
    /^NOT_FOUND there is no such execution/,
    /^order\.created { number: 'A-17' }$/,
    /^\[ 'Some', 'completed' \]$/
  ]
  it.each(shown.map((block, at) => [block.place, block.text, outputs[at]] as const))(
    "runs: %s",
    async (_, text, output) => {
      assert.lengthOf(shown, outputs.length)
      write("shown.mjs", text)
      const { stderr, stdout } = await run(process.execPath, ["shown.mjs"], {
        cwd: project,
        env: environment,
        timeout: 30_000
      })
      assert.match(stdout.trim(), output ?? /^$/)
      assert.strictEqual(stderr, "")
    }
  )
})

it("the example serves orders from a process of its own", async () => {
  const child = spawn(process.execPath, ["node_modules/svc/examples/rpc/orders.mjs"], {
    cwd: project,
    env: { ...environment, ORDERS_PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"]
  })
  running.add(child)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const until = async (isFound: (line: Readonly<Record<string, unknown>>) => boolean) => {
    for (;;) {
      const { done, value } = await lines.next()
      if (done === true) return assert.fail("the example has ended")
      const line: Readonly<Record<string, unknown>> = JSON.parse(value)
      if (isFound(line)) return line
    }
  }
  const { listening } = await until((line) => "listening" in line)
  await until((line) => "watching" in line)
  const send = async (text: string) => {
    const answer = await fetch(`http://127.0.0.1:${listening}/orders`, { method: "POST", body: text })
    const body: Readonly<Record<string, unknown>> = JSON.parse(await answer.text())
    return { status: answer.status, body }
  }
  const order = JSON.stringify({ number: "A-17", total: 99.5 })
  const first = await send(order)
  assert.deepInclude(first.body, { status: "completed", output: { hello: "A-17" }, error: null })
  assert.deepStrictEqual(await send(order), first)
  await until(({ run, status }) => run === first.body["executionId"] && status === "completed")
  const event = await svc.ask("GET", `/api/v1/events/${String(first.body["eventId"])}`, { key: svc.first.key })
  assert.deepInclude(event.body.data, { type: "order.accepted", payload: JSON.parse(order) })
  assert.strictEqual((await send("{")).status, 400)
  const ended = new Promise((resolve) => child.once("exit", resolve))
  child.kill("SIGTERM")
  assert.strictEqual(await ended, 0)
})
