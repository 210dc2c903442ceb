/** Runs every command line and every block of README.md as written, in order, in a folder of its own. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema, Scope } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { operatorsPostgres } from "../support/operatorsPostgres.js"
import { linesOf, makeCheckout, makeGuide } from "../support/guideCommands.js"

const root = fileURLToPath(new URL("../..", import.meta.url))
const guide = makeGuide("README.md")
const { blocks, ran, run, runAll, scriptBlocks, shellBlocks, start, stop, text: readme } = guide
const embeddedCheckout = makeCheckout()
const externalCheckout = makeCheckout()
const scope = Effect.runSync(Scope.make())
const postgres = operatorsPostgres()

beforeAll(() => postgres.start(scope))
afterAll(async () => {
  guide.kill()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  postgres.remove()
  for (const directory of [embeddedCheckout, externalCheckout]) fs.rmSync(directory, { recursive: true, force: true })
})

const Dev = Schema.parseJson(Schema.Struct({ apiKey: Schema.String, baseUrl: Schema.String }))
const dev = () => Schema.decodeSync(Dev)(fs.readFileSync(path.join(embeddedCheckout, ".svc", "dev.json"), "utf8"))
const Created = Schema.Struct({ data: Schema.Struct({ id: Schema.String }) })

const post = async (target: string, body: object) => {
  const { apiKey, baseUrl } = dev()
  const answer = await fetch(baseUrl + target, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  return { status: answer.status, text: await answer.text() }
}

describe.sequential("README.md", () => {
  it("starts svc by two commands, and its curl command works as written", async () => {
    const [install = "", begin = ""] = shellBlocks("Start").flatMap(linesOf)
    assert.strictEqual(install, "npm ci")
    // Checks that the lock file matches; installs nothing, since other tests share node_modules.
    const apart = fs.mkdtempSync(path.join(os.tmpdir(), "svc-readme-ci-"))
    for (const name of ["package.json", "package-lock.json"]) {
      fs.copyFileSync(path.join(root, name), path.join(apart, name))
    }
    const installed = guide.shell(apart, install, "export npm_config_dry_run=true npm_config_ignore_scripts=true")
    assert.strictEqual(await installed.ended, 0, installed.output())
    fs.rmSync(apart, { recursive: true })
    const output = await run(embeddedCheckout, begin)
    const pasted = /^curl [^]*?\{"input".*$/m.exec(output)?.[0] ?? assert.fail(output)
    assert.include(await run(embeddedCheckout, pasted), "Hello, you!")
    for (const block of shellBlocks("Start")) {
      ran.add(block)
      const [definition, ...others] = linesOf(block).filter((line) => line.startsWith("dev()"))
      assert.deepStrictEqual(others, [])
      if (definition !== undefined) guide.define(definition)
    }
  })

  it("shows requests that succeed", async () => {
    const [executed = ""] = await runAll(embeddedCheckout, shellBlocks("Run a workflow"))
    assert.include(executed, "Hello, you!")
    const [received = "", events = "", schedule = "", verified = ""] = await runAll(
      embeddedCheckout,
      shellBlocks("React to events")
    )
    assert.include(received, '"status":"accepted"')
    assert.include(events, '"id":"evt_')
    assert.include(schedule, '"nextFireAt":"2')
    assert.include(verified, " 0 unaccounted for")
    const [listed = ""] = await runAll(embeddedCheckout, shellBlocks("Manage"))
    assert.include(listed, '"workflowId"')
    const [connection = ""] = await runAll(embeddedCheckout, shellBlocks("Connectors and connections"))
    assert.match(connection, /"id":"conn_/)
  })

  it("shows workflows that are saved and published", async () => {
    const scripts = [...scriptBlocks("Workflows"), ...scriptBlocks("Connectors and connections")]
    assert.isNotEmpty(scripts)
    for (const [at, block] of scripts.entries()) {
      ran.add(block)
      const body = { name: `readme_${at}`, form: "code", tier: "standard", code: block.text }
      const made = await post("/api/v1/workflows", body)
      assert.strictEqual(made.status, 201, `${block.place}: ${made.text}`)
      const { id } = Schema.decodeUnknownSync(Schema.parseJson(Created))(made.text).data
      const published = await post(`/api/v1/workflows/${id}/publish`, {})
      assert.strictEqual(published.status, 200, `${block.place}: ${published.text}`)
    }
  })

  it("publishes steps and calls them by name, and starts svc with hosts of the user's own", async () => {
    const [published = "", called = "", output = ""] = await runAll(embeddedCheckout, shellBlocks("Workflows"))
    assert.include(published, '"version":1')
    assert.include(called, '"greetings":[{"text":"Hello Ada"},{"text":"Hello Bo"}]')
    assert.notInclude(output, "SVC_EGRESS_ALLOW=")
    for (const command of inline.filter((one) => one.endsWith(" console")))
      assert.include(await run(embeddedCheckout, command), "/login#token=")
  })

  it("backs up, rotates the keys while svc runs, restores after a stop, and starts again", async () => {
    const [backup] = shellBlocks("Backup, and the keys")
    assert.isDefined(backup)
    const outputs = await runAll(embeddedCheckout, [backup])
    assert.include(outputs.at(-1), "is restored to")
    assert.isDefined(
      fs.readdirSync(path.join(embeddedCheckout, ".svc")).find((name) => name.startsWith("before-restore-"))
    )
    await start(embeddedCheckout, "npm start")
    assert.include((await runAll(embeddedCheckout, shellBlocks("Run a workflow")))[0], "Hello, you!")
    for (const command of inline.filter((one) => one.includes(" keys "))) await run(embeddedCheckout, command)
    assert.include((await runAll(embeddedCheckout, shellBlocks("Run a workflow")))[0], "Hello, you!")
    await stop()
  })

  it("leads to svc on an operator's own Postgres", async () => {
    const [block] = shellBlocks("On your own Postgres")
    assert.isDefined(block)
    ran.add(block)
    const shown = /postgres:\/\/admin:\S+/
    const [migrate = "", keys = "", ...rest] = linesOf(block)
    assert.match(migrate, shown)
    const outputs = [
      await run(externalCheckout, migrate.replace(shown, postgres.administrator())),
      await run(externalCheckout, keys)
    ]
    const variables = outputs.flatMap((output) => output.match(/^SVC_\w+=.*$/gm) ?? [])
    fs.writeFileSync(path.join(externalCheckout, ".env"), variables.join("\n"))
    const bootstrapped = await run(externalCheckout, rest[0] ?? "")
    const key = /^svk_live_[\w-]{43}$/m.exec(bootstrapped)?.[0] ?? assert.fail(bootstrapped)
    for (const command of inline.filter((one) => /svc -- migrate/.test(one))) await run(externalCheckout, command)
    const output = await run(externalCheckout, rest[1] ?? "")
    const baseUrl = /"url":"(http:[^"]+)"/.exec(output)?.[1] ?? ""
    const answer = await fetch(`${baseUrl}/api/v1/customers`, { headers: { authorization: `Bearer ${key}` } })
    assert.strictEqual(answer.status, 200)
    for (const command of inline.filter((one) => / cluster /.test(one))) {
      const answered = / status/.test(command) ? "300 of 300 shards are held." : "is confirmed already."
      assert.include(await run(externalCheckout, command), answered)
    }
    await stop()
  })

  it("names only commands that exist, and every block was tested", () => {
    const { scripts } = Schema.decodeSync(Schema.parseJson(Schema.Struct({ scripts: commands })))(
      fs.readFileSync(path.join(root, "package.json"), "utf8")
    )
    // These commands run the tests themselves, or take minutes; CI runs them.
    for (const block of shellBlocks("Work on it")) {
      ran.add(block)
      for (const line of linesOf(block)) {
        const [command = ""] = line.split("#")
        const script = /^npm (?:run )?([\w:]+)(?: -- [\w ~-]+)?\s*$/.exec(command)?.[1]
        if (script === undefined) fs.accessSync(path.join(root, command.trim()), fs.constants.X_OK)
        else assert.property(scripts, script, line)
      }
    }
    assert.deepStrictEqual(
      blocks.filter((block) => !ran.has(block)).map(({ place }) => place),
      []
    )
    const handled =
      /^npm run svc -- (?:keys (?:rotate|accept|new)|migrate|cluster (?:status|confirm)|restart|console)$|^npm run svc -- migrate --print$/
    assert.deepStrictEqual(
      inline.filter((command) => !handled.test(command)),
      []
    )
  })
})

const commands = Schema.Record({ key: Schema.String, value: Schema.String })

/** Complete commands within the text. */
const inline = [...readme.matchAll(/`(npm run svc -- [^`]+)`/g)].map(([, command = ""]) => command)
