/** What a person reads in the first hour: the first start, the form of the log, and the answers of mistyped commands. */
import { assert, describe, it } from "@effect/vitest"
import { Option, Redacted } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { onTestFinished } from "vitest"
import { greetingText } from "../../src/runtime/program/FirstStart.js"
import { bundle, makeDataDirectory, startService } from "../support/Service.js"

const place = () => {
  const { dataDir, directory, remove } = makeDataDirectory()
  fs.chmodSync(directory, 0o755)
  onTestFinished(remove)
  return { dataDir, directory }
}

describe("a first start", () => {
  it("logs one line for all migrations, and says where the key is without printing it", async () => {
    const { dataDir } = place()
    const service = startService({ dataDir })
    await service.ready
    const lines = service.output().split("\n")
    const migrated = lines.filter((line) => line.includes("postgres.migrated"))
    assert.lengthOf(migrated, 1)
    assert.match(migrated[0] ?? "", /"migrations":\d{2}/)
    assert.notInclude(service.output(), "svk_")
    assert.include(service.output(), `The key and ids are in ${path.join(dataDir, "dev.json")}`)
    service.kill("SIGTERM")
    assert.strictEqual(await service.ended, 0)
    // A start after it has nothing to tell of migrations, and is as readable as SVC_LOG says.
    const pretty = startService({ dataDir, env: { SVC_LOG: "pretty" } })
    while (!pretty.output().includes("service.ready")) await new Promise((resolve) => setTimeout(resolve, 20))
    pretty.kill("SIGTERM")
    assert.strictEqual(await pretty.ended, 0)
    assert.match(
      pretty.output(),
      /^\d\d:\d\d:\d\d INFO  service\.ready (?=.*url=http:\/\/127\.0\.0\.1:\d+).*afterMillis=\d+.*$/m
    )
    assert.notMatch(pretty.output(), /^\{|postgres\.migrated/m)
  })

  it("prints the key and a link that signs in on a terminal, else the command", () => {
    const dev = {
      baseUrl: "http://127.0.0.1:8080",
      apiKey: "svk_live_x",
      organisationId: "org_x",
      spaceId: "spc_x",
      customerId: "cus_x",
      exampleWorkflowId: "wf_x",
      callbackSecret: "whsec_x"
    }
    const config = { dataDir: ".svc", egressAllow: [] }
    const onTerminal = greetingText(
      config,
      dev,
      true,
      Option.some(Redacted.make("http://127.0.0.1:8080/login#token=x"))
    )
    const elsewhere = greetingText(config, dev, false, Option.none())
    assert.include(onTerminal, "'Authorization: Bearer svk_live_x'")
    assert.notInclude(elsewhere, "svk_live_x")
    assert.include(onTerminal, "/login#token=x")
    assert.include(elsewhere, "npm run svc -- console")
    assert.notInclude(onTerminal + elsewhere, "whsec_x")
  })
})

const run = async (command: ReadonlyArray<string>, dataDir = place().dataDir) => {
  const one = startService({ dataDir, command })
  return { code: await one.ended, output: one.output() }
}

describe("a process whose output cannot be written", () => {
  /** Runs a command of the shell in which `svc` is the program. */
  const shell = (command: string) =>
    spawnSync("bash", ["-c", `svc() { "${process.execPath}" "${bundle}" "$@"; }; ${command}`], { encoding: "utf8" })

  it("goes on as a service, and stops in order", async () => {
    const service = startService({ dataDir: place().dataDir })
    await service.ready
    service.stopReading()
    const { baseUrl } = JSON.parse(fs.readFileSync(path.join(service.dataDir, "dev.json"), "utf8"))
    for (let n = 0; n < 3; n++) assert.strictEqual((await fetch(`${baseUrl}/readyz`)).status, 200)
    service.kill("SIGTERM")
    assert.strictEqual(await service.ended, 0)
  })

  it("ends quietly as a command whose reader has ended", () => {
    for (const words of ["--help", "keys new", "migrate --print"]) {
      const { stderr, stdout } = shell(`svc ${words} | true; echo "\${PIPESTATUS[0]}"`)
      assert.deepStrictEqual([stdout, stderr], ["0\n", ""], words)
    }
  })

  it("ends with 1 as a command whose output is lost", () => {
    assert.strictEqual(shell("svc keys new > /dev/full").status, 1)
  })
})

describe("a command", () => {
  it("that does not exist is refused with the closest one, and what there is", async () => {
    for (const [command, wanted] of [
      [["keys", "rotat"], "svc keys has no command rotat. Did you mean rotate? Its commands: new, rotate, accept."],
      [
        ["verify-event"],
        "svc has no command verify-event. Did you mean verify-events? Its commands: start, restart, migrate,"
      ],
      [["strat"], "Did you mean start?"],
      [["frobnicate"], "svc has no command frobnicate. Its commands: start,"]
    ] as const) {
      const { code, output } = await run(command)
      assert.strictEqual(code, 1)
      assert.include(output, wanted)
    }
  })

  it("backup names a folder that is missing", async () => {
    const { dataDir, directory } = place()
    const { code, output } = await run(["backup", path.join(directory, "none", "x.tar.gz")], dataDir)
    assert.strictEqual(code, 1)
    assert.include(output, `The folder ${path.join(directory, "none")} does not exist: create it`)
  })

  it("other than start and bootstrap loads no module of the service", async () => {
    const { dataDir, directory } = place()
    const service = startService({ dataDir })
    await service.ready
    // The bundle names the function of a module by its path.
    const loaded = async (...command: ReadonlyArray<string>) => {
      const folder = fs.mkdtempSync(path.join(directory, "coverage-"))
      const one = startService({ dataDir, command, env: { NODE_V8_COVERAGE: folder } })
      assert.strictEqual(await one.ended, 0, one.output())
      const [report = ""] = fs.readdirSync(folder)
      const functions = fs.readFileSync(path.join(folder, report), "utf8")
      return [...functions.matchAll(/"functionName":"(src\/[^"]+)","ranges":\[\{[^}]*"count":1\}/g)].map(
        ([, name]) => name
      )
    }
    for (const command of [["verify-events"], ["migrate"], ["keys", "new"], ["cluster", "status"]]) {
      const modules = await loaded(...command)
      assert.include(modules, "src/runtime/cli/Cli.ts")
      assert.notInclude(modules, "src/runtime/program/Service.ts")
      assert.notInclude(modules, "src/http/operation/Operation.ts")
    }
    service.kill("SIGTERM")
    assert.strictEqual(await service.ended, 0)
  })
})

const signature = "v1=43fc3b8dcc6c87100e1fa6c4878ccffe43e35b25bac35a36f86621c83bf62fd1"

describe("svc sign", () => {
  const secret = "svs_test_0123456789abcdefghijklmnopqrstuvwxyzABCDE"
  const request = [
    ["--target", "/api/v1/workflows/wf_b5880b29eb25/execute"],
    ["--header", "x-org-id=cus_01jd0000000000000000000000"],
    ["--header", "X-User-Id=u_7"],
    ["--time", "1795244400"]
  ].flat()
  const content = '{"input":{"orderId":"S-1024"}}'

  it("prints the header of the contract's example, from texts and from files", async () => {
    const { directory } = place()
    const [secretFile, bodyFile] = [path.join(directory, "secret"), path.join(directory, "body")]
    fs.writeFileSync(secretFile, `${secret}\n`)
    fs.writeFileSync(bodyFile, content)
    const given = await run(["sign", "--secret", secret, "--body", content, ...request])
    assert.strictEqual(given.output, `x-identity-hmac: t=1795244400,${signature}\n`)
    const read = await run(["sign", "--secret", `@${secretFile}`, "--body", `@${bodyFile}`, ...request])
    assert.strictEqual(read.output, given.output)
  })

  it("refuses what cannot be signed, and says why", async () => {
    const refused = async (...words: ReadonlyArray<string>) => {
      const { code, output } = await run(["sign", ...words])
      assert.strictEqual(code, 1, output)
      assert.notInclude(output, "0123456789")
      return output
    }
    assert.include(await refused("--secret", "whsec_0123456789", "--target", "/x"), "begins with svs_")
    assert.include(await refused("--secret", secret, "--target", "http://x/y"), "--target must be path and query")
    assert.include(
      await refused("--secret", secret, "--target", "/x", "--header", "x-orgid=1"),
      "The signature covers no header x-orgid. Did you mean x-org-id?"
    )
    assert.include(await refused("--secret", "@/none/such", "--target", "/x"), "--secret cannot be read: ENOENT")
  })
})
