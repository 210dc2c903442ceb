/** Refusals of the start and of commands: each says what is wrong and what to do. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema, Scope } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { Client } from "pg"
import { onTestFinished } from "vitest"
import { generateSecrets } from "../../src/runtime/vault/InstallationSecrets.js"
import { freePort } from "../support/freePort.js"
import { operatorsPostgres } from "../support/operatorsPostgres.js"
import { announce } from "../support/LogExpectations.js"
import {
  makeDataDirectory,
  prepareCompiled,
  prepareData,
  startService,
  type ServiceOptions
} from "../support/Service.js"

// A refusal is one sentence, which each test asserts.
announce(/^[^{]/)

const root = fileURLToPath(new URL("../..", import.meta.url))
const isRoot = process.getuid?.() === 0
const daemon = 1

const run = async (options: ServiceOptions) => {
  const one = startService(options)
  return { code: await one.ended, output: one.output() }
}

/** Runs a start that must end with exactly one refusal. */
const refusedStart = async (options: ServiceOptions) => {
  const { code, output } = await run(options)
  assert.strictEqual(code, 1, output)
  assert.notMatch(output, /\n {4}at |is ready/)
  return output
}

const startAndStop = async (options: ServiceOptions) => {
  const one = startService(options)
  await one.ready
  one.kill("SIGTERM")
  assert.strictEqual(await one.ended, 0, one.output())
}

const place = () => {
  const { dataDir, directory, remove } = makeDataDirectory()
  fs.chmodSync(directory, 0o755)
  onTestFinished(remove)
  return { dataDir, directory }
}

const variablesIn = (output: string): Readonly<Record<string, string>> =>
  Object.fromEntries([...output.matchAll(/^(SVC_[A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]))

const secretsOf = () => {
  const { keyPepper, masterKeys } = generateSecrets(new Date())
  return { SVC_MASTER_KEYS: masterKeys, SVC_KEY_PEPPER: keyPepper }
}

describe("a start on a data directory that cannot be made", () => {
  it.skipIf(process.platform !== "linux")("says so, and ends", async () => {
    for (const dataDir of ["/proc/x", "/proc/self/x/y"])
      assert.match(
        await refusedStart({ dataDir }),
        /cannot be made: .*Set SVC_DATA_DIR to a directory that svc may write/
      )
  })
})

describe.sequential("on an operator's own Postgres", () => {
  const scope = Effect.runSync(Scope.make())
  const postgres = operatorsPostgres()
  const { dataDir, directory, remove } = makeDataDirectory()
  const own = secretsOf()
  let logins: Readonly<Record<string, string>> = {}
  let apiKey = ""

  beforeAll(async () => {
    await postgres.start(scope)
    await prepareCompiled(dataDir)
    const migrated = await run({ dataDir, command: ["migrate", "--admin-url", postgres.administrator()] })
    logins = variablesIn(migrated.output)
    const command = ["bootstrap", "--organisation", "Acme"]
    const made = await run({ dataDir, command, env: { ...logins, ...own } })
    apiKey = /^svk_live_[\w-]{43}$/m.exec(made.output)?.[0] ?? assert.fail(made.output)
  })
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    postgres.remove()
    remove()
  })

  const env = (more: Readonly<Record<string, string>> = {}) => ({ ...logins, ...own, ...more })
  const asOwner = async (statement: string) => {
    const client = new Client({ connectionString: logins["SVC_DATABASE_URL_OWNER"] ?? "" })
    await client.connect()
    try {
      return (await client.query(statement)).rows
    } finally {
      await client.end()
    }
  }

  it("the start creates the directory of the audit checkpoints", async () => {
    const elsewhere = path.join(directory, "not", "there")
    const one = startService({ dataDir: elsewhere, env: env() })
    await one.ready
    const baseUrl = /"url":"(http:[^"]+)"/.exec(one.output())?.[1] ?? ""
    const answer = await fetch(`${baseUrl}/api/v1/secrets`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "CANARY", value: "sealed" })
    })
    assert.strictEqual(answer.status, 201, await answer.text())
    one.kill("SIGTERM")
    assert.strictEqual(await one.ended, 0)
    assert.isTrue(fs.existsSync(path.join(elsewhere, "audit-checkpoints.jsonl")))
  })

  it("the start and commands refuse a wrong pepper", async () => {
    const wrong = env({ SVC_KEY_PEPPER: secretsOf().SVC_KEY_PEPPER })
    const said = /^SVC_KEY_PEPPER is not the pepper .* set it back to that one.*\n$/m
    assert.match(await refusedStart({ dataDir, env: wrong }), said)
    const command = ["bootstrap", "--organisation", "Other"]
    assert.match((await run({ dataDir, command, env: wrong })).output, said)
    assert.match((await run({ dataDir, command: ["migrate"], env: wrong })).output, said)
  })

  it("the start refuses a missing, a foreign and an unknown master key by name, and starts with the right ones", async () => {
    const [id = "", bytes = ""] = own.SVC_MASTER_KEYS.split(":")
    const [otherId = "", otherBytes = ""] = secretsOf().SVC_MASTER_KEYS.split(":")
    assert.match(
      await refusedStart({ dataDir, env: env({ SVC_MASTER_KEYS: `${otherId}x:${otherBytes}` }) }),
      new RegExp(`^SVC_MASTER_KEYS lacks the master key ${id}, which wraps \\d+ data keys: add it`)
    )
    const swapped = env({ SVC_MASTER_KEYS: `${id}:${otherBytes}` })
    assert.match(await refusedStart({ dataDir, env: swapped }), new RegExp(`holds another master key ${id} than this`))
    // An installation of an earlier release has no check values: its data keys are checked instead.
    await asOwner("DELETE FROM secret_checks")
    assert.match(await refusedStart({ dataDir, env: swapped }), new RegExp(`another master key ${id} than the one`))
    assert.deepStrictEqual(await asOwner("SELECT * FROM secret_checks"), [])
    await startAndStop({ dataDir, env: env() })
    assert.deepStrictEqual(await asOwner("SELECT secret FROM secret_checks ORDER BY 1"), [
      { secret: `master key ${id}` },
      { secret: "pepper" }
    ])
    await startAndStop({ dataDir, env: env({ SVC_MASTER_KEYS: `${otherId}x:${otherBytes},${id}:${bytes}` }) })
  })

  it("a rotation updates the check values", async () => {
    const fresh = secretsOf().SVC_MASTER_KEYS.replace(":", "r:")
    const rotating = env({ SVC_MASTER_KEYS: `${fresh},${own.SVC_MASTER_KEYS}` })
    const rotated = await run({ dataDir, command: ["keys", "rotate"], env: rotating })
    assert.strictEqual(rotated.code, 0, rotated.output)
    await startAndStop({ dataDir, env: env({ SVC_MASTER_KEYS: fresh }) })
    const former = await refusedStart({ dataDir, env: env() })
    assert.match(former, new RegExp(`lacks the master key ${fresh.split(":")[0]}`))
    const back = env({ SVC_MASTER_KEYS: `${own.SVC_MASTER_KEYS},${fresh}` })
    assert.strictEqual((await run({ dataDir, command: ["keys", "rotate"], env: back })).code, 0)
    await startAndStop({ dataDir, env: env() })
  })

  it("after the secrets are lost, keys accept lets svc start with new ones", async () => {
    const others = { ...logins, ...secretsOf() }
    const said = await refusedStart({ dataDir, env: others })
    assert.match(said, /SVC_KEY_PEPPER[^]*SVC_MASTER_KEYS[^]*keys accept/)
    const accepted = await run({ dataDir, command: ["keys", "accept"], env: others })
    assert.include(accepted.output, own.SVC_MASTER_KEYS.split(":")[0] ?? "no id")
    await startAndStop({ dataDir, env: others })
    await run({ dataDir, command: ["keys", "accept"], env: env() })
    await startAndStop({ dataDir, env: env() })
  })

  it("a refused password, an unknown host and a closed port name their variable, and do not suggest migrate", async () => {
    const changed = (change: (url: URL) => void, more: object = {}) => {
      const url = new URL(logins["SVC_DATABASE_URL_OWNER"] ?? "")
      change(url)
      return { dataDir, env: env({ SVC_DATABASE_URL_OWNER: url.href, ...more }) }
    }
    const cases = [
      [changed((url) => (url.password = "wrong")), /refuses the login svc_owner .*password.* SVC_DATABASE_URL_OWNER/],
      [
        changed((url) => (url.hostname = "nowhere.invalid")),
        /The host nowhere\.invalid is unknown.* SVC_DATABASE_URL_OWN/
      ],
      [
        changed((url) => (url.port = "1"), { SVC_DB_START_WAIT: "0s" }),
        /No Postgres answers on \S+:1 .*SVC_DATABASE_URL_OWNER/
      ]
    ] as const
    for (const [options, wanted] of cases) {
      const said = await refusedStart(options)
      assert.match(said, wanted)
      assert.notInclude(said, "migrate")
    }
    const admin = new URL(postgres.administrator())
    admin.password = "wrong"
    const refused = await run({ dataDir, command: ["migrate", "--admin-url", admin.href] })
    assert.match(refused.output, /refuses the login postgres .* --admin-url\.\n$/)
  })
})

describe("commands", () => {
  it("only a start creates an installation: every other command leaves a mistyped directory unchanged", async () => {
    const { dataDir, directory } = place()
    const commands = [
      ["keys", "rotate"],
      ["keys", "accept"],
      ["backup", path.join(directory, "x.tar.gz")],
      ["bootstrap", "--organisation", "Acme"],
      ["console"],
      ["migrate"],
      ["restore", path.join(directory, "none.tar.gz")]
    ]
    for (const command of commands) {
      const { code, output } = await run({ dataDir, command })
      assert.strictEqual(code, 1, output)
      if (command[0] !== "restore") {
        assert.match(output, /^There is no installation of svc in .*\. Set SVC_DATA_DIR .*`npm start`\.\n$/)
      }
      assert.deepStrictEqual(fs.readdirSync(directory), [], command.join(" "))
    }
  })

  it("an unknown option is named in the refusal, with the closest known one", async () => {
    const { dataDir } = place()
    const said = async (...command: ReadonlyArray<string>) => (await run({ dataDir, command })).output
    assert.match(await said("backup", "--foo", "x"), /^svc backup has no option --foo\. Run svc backup --help/)
    assert.match(await said("restore", "--forc", "x"), /no option --forc\. Did you mean --force\?/)
    assert.match(await said("start", "--port", "1"), /^svc start has no option --port/)
    assert.match(await said("migrate", "--help"), /--admin-url[^]*--print/)
    for (const [command, option] of [
      ["migrate", "--admin-url"],
      ["migrate", "--print"],
      ["bootstrap", "--organisation"],
      ["restore", "--force"]
    ] as const) {
      assert.include(await said(command, "--help"), option)
    }
  })
})

describe("the files of the data directory", () => {
  it("a key file that others can read or that is a link refuses the start, and says what to do", async () => {
    const { dataDir } = place()
    await prepareData(dataDir)
    for (const name of ["master.keys", "key.pepper"]) {
      const file = path.join(dataDir, name)
      fs.chmodSync(file, 0o644)
      assert.match(await refusedStart({ dataDir }), new RegExp(`${name} can be read by others: run chmod 600`))
      fs.chmodSync(file, 0o600)
      fs.renameSync(file, `${file}.elsewhere`)
      fs.symlinkSync(`${file}.elsewhere`, file)
      assert.match(await refusedStart({ dataDir }), new RegExp(`${name} is a symbolic link: put the file itself`))
      fs.rmSync(file)
      fs.renameSync(`${file}.elsewhere`, file)
      if (isRoot) {
        fs.chownSync(file, daemon, daemon)
        assert.match(await refusedStart({ dataDir }), new RegExp(`${name} belongs to user 1, .*chown`))
        fs.chownSync(file, 0, 0)
      }
    }
    await startAndStop({ dataDir })
  })

  it.runIf(isRoot)("a data directory that cannot be written says what to do", async () => {
    const { dataDir } = place()
    const said = await refusedStart({ dataDir, uid: daemon })
    assert.match(said, /cannot be made: EACCES.*Set SVC_DATA_DIR to a directory that svc may write\.\n$/)
  })

  it.runIf(isRoot)("a dist that cannot be written says what to do", () => {
    const { directory } = place()
    fs.cpSync(path.join(root, "scripts"), path.join(directory, "scripts"), { recursive: true })
    const built = spawnSync(process.execPath, [path.join(directory, "scripts", "build.mjs")], {
      uid: daemon,
      encoding: "utf8"
    })
    assert.strictEqual(built.status, 1)
    assert.match(built.stderr, /^dist\/ cannot be written: EACCES.*\. Build as the user who owns it, or .*\n$/)
  })

  it("once /readyz says ready, dev.json is complete, its example runs, and the console's link signs in", async () => {
    const { dataDir } = place()
    const port = await freePort()
    const one = startService({ dataDir, env: { SVC_PORT: String(port), SVC_EGRESS_ALLOW: "127.0.0.1/32" } })
    const file = path.join(dataDir, "dev.json")
    const seen = new Set<string>()
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
      const status = answer === undefined ? "closed" : `${answer.status}`
      seen.add(status)
      if (status === "200") break
      if (fs.existsSync(file)) Schema.decodeSync(Dev)(fs.readFileSync(file, "utf8"))
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    const { apiKey, exampleWorkflowId } = Schema.decodeSync(Dev)(fs.readFileSync(file, "utf8"))
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/workflows/${exampleWorkflowId}/execute`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ input: { name: "you" } })
    })
    assert.strictEqual(answer.status, 200, await answer.text())
    await one.ready
    await signInByLink(dataDir, `http://127.0.0.1:${port}`)
    assert.notInclude(one.output(), "To let them call this machine", "what is set is not advised")
    one.kill("SIGTERM")
    assert.strictEqual(await one.ended, 0)
    assert.deepStrictEqual(
      fs.readdirSync(dataDir).filter((name) => name.startsWith("dev.json")),
      ["dev.json"]
    )
  })
})

/** Follows the link that `svc console` prints, as a browser does, and asks who is signed in. */
const signInByLink = async (dataDir: string, origin: string): Promise<void> => {
  // Without the port, which it finds.
  const printed = await run({ dataDir, command: ["console"] })
  const [, page, token] =
    /^(http:.*\/login)#token=([A-Za-z0-9_-]{43})$/m.exec(printed.output) ?? assert.fail(printed.output)
  assert.strictEqual(page, `${origin}/login`)
  const headers = { origin, "content-type": "application/x-www-form-urlencoded" }
  const post = () => fetch(`${page}`, { method: "POST", redirect: "manual", headers, body: `token=${token}` })
  const signedIn = await post()
  assert.deepStrictEqual([signedIn.status, (await post()).status], [303, 410])
  const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? ""
  const me = await fetch(`${origin}/api/v1/me`, { headers: { cookie, "sec-fetch-site": "same-origin" } })
  assert.include(await me.text(), '"kind":"person"')
  const unknown = await run({ dataDir, command: ["console", "--email", "nobody@example.com"] })
  assert.deepStrictEqual([unknown.code, unknown.output.split(".")[0]], [1, "Nobody has the address nobody@example"])
}

const Dev = Schema.parseJson(Schema.Struct({ apiKey: Schema.String, exampleWorkflowId: Schema.String }))
