/** `svc connector check` prints what differs, and ends with 0, 1 or 2. */
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, Either } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { stringify } from "yaml"
import type { Json } from "../../src/domain/Json.js"
import { cli } from "../../src/runtime/cli/Cli.js"

const directory = mkdtempSync(path.join(tmpdir(), "svc-check-"))
process.on("exit", () => rmSync(directory, { recursive: true, force: true }))

const file = (name: string, text: string): string => {
  const at = path.join(directory, name)
  writeFileSync(at, text)
  return at
}

interface Ran {
  readonly code: number
  readonly message: string
  readonly out: string
}

/** Runs the command as the program does, with its output and the code that it ends with. */
const run = (...words: ReadonlyArray<string>): Promise<Ran> =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const unsafe = {
      ...globalThis.console,
      log: (...texts: ReadonlyArray<unknown>) => void lines.push(texts.join(" "))
    }
    const console: Console.Console = {
      ...(yield* Console.consoleWith((one) => Effect.succeed(one))),
      log: (...texts) => Effect.sync(() => unsafe.log(...texts)),
      unsafe
    }
    const ended = yield* Effect.either(cli(["node", "svc", "connector", ...words])).pipe(Effect.withConsole(console))
    return Either.match(ended, {
      onLeft: ({ exitCode = 1, message }) => ({ code: exitCode, message, out: lines.join("\n") }),
      onRight: () => ({ code: 0, message: "", out: lines.join("\n") })
    })
  }).pipe(Effect.runPromise)

const definition: Json = {
  svcConnector: 1,
  slug: "tea",
  name: "Tea",
  kind: "custom",
  version: "1.0.0",
  baseUrl: "https://tea.example",
  auth: [{ id: "none", type: "none" }],
  actions: [{ name: "brew", request: { method: "POST", path: "/pots", body: { leaves: "{{args.leaves}}" } } }]
}
const document = (member: string): Json => ({
  openapi: "3.0.0",
  info: { title: "Tea", version: "2" },
  paths: {
    "/pots": {
      post: {
        requestBody: { content: { "application/json": { schema: { properties: { [member]: {} } } } } },
        responses: {}
      }
    }
  }
})

const own = file("tea.connector.json", JSON.stringify(definition))
const same = file("same.json", JSON.stringify(document("leaves")))
const other = file("other.yaml", stringify(document("herbs")))

describe("svc connector check", () => {
  it("ends with 0 and a summary where nothing differs", async () => {
    const { code, out } = await run("check", own, "--against", same)
    assert.strictEqual(code, 0)
    assert.match(out, /^tea 1\.0\.0 against Tea 2 \(1 operations\):\n1 of 1 actions .* 0 differences;/)
  })

  it("ends with 1 and names each difference, also of a document in YAML", async () => {
    const { code, message, out } = await run("check", own, "--against", other)
    assert.deepStrictEqual([code, message], [1, "1 difference found."])
    assert.match(out, /^brew {2}request\.body\.leaves {2}UNKNOWN_MEMBER {2}the document has no such member\n/)
  })

  it("compares with several documents together", async () => {
    assert.strictEqual((await run("check", own, "--against", other, "--against", same)).code, 1)
  })

  it("prints JSON", async () => {
    const { code, out } = await run("check", own, "--against", other, "--json")
    assert.strictEqual(code, 1)
    const { differences, ...report } = JSON.parse(out)
    assert.deepStrictEqual(
      differences.map(({ action, at, code: kind }: Record<string, string>) => [action, at, kind]),
      [["brew", "request.body.leaves", "UNKNOWN_MEMBER"]]
    )
    assert.deepStrictEqual(report, {
      connector: "tea",
      version: "1.0.0",
      documents: [{ title: "Tea", version: "2", operations: 1 }],
      actions: 1,
      compared: 1,
      entities: 0,
      uncompared: []
    })
  })

  it("says what it does", async () => {
    const { code, out } = await run("check", "--help")
    assert.strictEqual(code, 0)
    for (const words of ["--against", "--json", "OpenAPI 3, Swagger 2 or Google discovery document", "with 2 if"])
      assert.include(out.replace(/\s+/g, " "), words)
  })

  it("ends with 2 and says why where there is nothing to compare", async () => {
    const cases: ReadonlyArray<readonly [words: ReadonlyArray<string>, message: RegExp]> = [
      [["check", "jra", "--against", same], /^There is no built-in connector jra\. Did you mean jira\?/],
      [["check", own, "--against", path.join(directory, "none.json")], /none\.json cannot be read: ENOENT/],
      [["check", own, "--against", file("broken.json", "{")], /broken\.json is neither JSON nor YAML/],
      [["check", own, "--against", file("list.json", "[]")], /list\.json is not an OpenAPI document/],
      [["check", same, "--against", same], /same\.json is no connector definition: /],
      [["check", own], /^Run svc connector --help/],
      [["check", own, "--agains", same], /has no option --agains\. Did you mean --against\?/],
      [["chek", own], /has no command chek\. Did you mean check\?/]
    ]
    for (const [words, message] of cases) {
      const ran = await run(...words)
      assert.strictEqual(ran.code, 2, words.join(" "))
      assert.match(ran.message, message)
    }
  })
})
