/**
 * Runs every block of commands of docs/operate.md and docs/deploy.md as written. Where there is no container engine and no cluster of Kubernetes, the
 * test does what the words mean: containers are processes of this machine, manifests are checked.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parseEnv } from "node:util"
import { generateSecrets } from "../../src/runtime/vault/InstallationSecrets.js"
import { readConfig } from "../../src/runtime/configuration/Config.js"
import { alertRules } from "../support/alerts/Rules.js"
import { type Composition, startComposition } from "../support/deploy/Composition.js"
import { readDockerfile, root } from "../support/deploy/Dockerfile.js"
import { makeImage } from "../support/deploy/Image.js"
import { type KubernetesObject, kustomized } from "../support/deploy/Kustomize.js"
import { manifestProblem } from "../support/deploy/Schemas.js"
import { makeTools, type Tool } from "../support/deploy/Tools.js"
import { freePort } from "../support/freePort.js"
import { linesOf, makeCheckout, makeGuide } from "../support/guideCommands.js"
import { postgresPrograms, startInstalledPostgres } from "../support/installedPostgres.js"
import { canMount } from "../support/smallDisk.js"
import { scaled } from "../support/slowness.js"

const temporary = fs.mkdtempSync(path.join(os.tmpdir(), "svc-operate-"))
fs.chmodSync(temporary, 0o755)
const PATH = [path.join(temporary, "bin"), postgresPrograms(), process.env["PATH"]].join(path.delimiter)
const operating = makeGuide("docs/operate.md", { PATH })
const deploying = makeGuide("docs/deploy.md", { PATH })
const { run, runAll, shellBlocks } = deploying
const checkout = makeCheckout(["deploy", "Dockerfile", "compose.yaml"])
let tools: Awaited<ReturnType<typeof makeTools>>
let composition: Composition | undefined

const known = (isKnown: boolean) => assert.isTrue(isKnown, "not a command that the guide's test understands")

const docker: Tool = async (words, directory) => {
  const [command, ...rest] = words
  if (command === "tag") return ""
  if (command === "build") {
    known(rest[0] === "--tag" && rest.at(-1) === ".")
    for (const argument of rest.flatMap((word, at) => (word === "--build-arg" ? [rest[at + 1] ?? ""] : [])))
      known(readDockerfile().args.has(argument.split("=")[0] ?? ""))
    return ""
  }
  if (command === "run") {
    known(rest[0] === "--rm" && rest[1] === "svc")
    const image = makeImage(fs.mkdtempSync(path.join(temporary, "run-")))
    const container = image.start({ command: rest.slice(2), env: {}, volume: image.makeVolume("run"), hosts: {} })
    assert.strictEqual(await container.ended, 0, container.output())
    return container.output()
  }
  known(command === "compose")
  if (rest.join(" ") === "up --detach --wait") {
    const env = parseEnv(fs.readFileSync(path.join(directory, ".env"), "utf8")) as Readonly<Record<string, string>>
    composition = await startComposition(54, { ...env, SVC_RUNNERS: "1" })
    return (await composition.up()).join("\n")
  }
  // An image that is built again is of the same build here.
  const [, node] = /^up --detach --wait --no-deps (\S+)$/.exec(rest.join(" ")) ?? []
  if (node !== undefined) return (await composition?.restart(node))?.join("\n") ?? assert.fail("nothing is up")
  const [exec, service = "", ...program] = rest
  known(exec === "exec" && program[0] === "svc")
  return (await composition?.exec(service, program.slice(1))) ?? assert.fail("nothing is up")
}

let applied: ReadonlyArray<KubernetesObject> = []
const kubectl: Tool = async (words, directory) => {
  const [first, , ...others] = words
  const command = (first === "--namespace" ? others : words).join(" ")
  const [, folder] = /^apply --kustomize (\S+)$/.exec(command) ?? []
  if (folder !== undefined) {
    applied = kustomized(folder)
    for (const object of applied) assert.strictEqual(manifestProblem(object), "")
    return ""
  }
  const [, deployment] = /^rollout status deployment\/(\S+)$/.exec(command) ?? []
  if (deployment !== undefined) {
    known(applied.some(({ kind, metadata }) => kind === "Deployment" && metadata.name === deployment))
    return ""
  }
  const [, changed, program] = /^(?:set image|exec) deployment\/(\S+) (?:svc=\S+|-- svc (.+))$/.exec(command) ?? []
  if (changed !== undefined) {
    known(applied.some(({ kind, metadata }) => kind === "Deployment" && metadata.name === changed))
    // A command that exists says how it is called.
    return program === undefined ? "" : run(checkout, `npm run --silent svc -- ${program} --help`)
  }
  const [, secrets] = /^create secret generic svc --from-env-file=(\S+)$/.exec(command) ?? []
  if (secrets !== undefined) {
    const env = parseEnv(fs.readFileSync(path.join(directory, secrets), "utf8")) as Readonly<Record<string, string>>
    const role = { SVC_ROLE: "runner", SVC_NODE_ADDRESS: "10.0.0.1:7400", SVC_NODE_LISTEN: "0.0.0.0" }
    await Effect.runPromise(readConfig({ ...env, ...role }))
    return ""
  }
  const [, file] = /^create configmap \S+ --from-file=config\.yaml=(\S+)$/.exec(command) ?? []
  known(file === undefined ? /^create namespace \S+$/.test(command) : fs.existsSync(path.join(root, file)))
  return ""
}

beforeAll(async () => {
  tools = await makeTools(path.join(temporary, "bin"), { docker, kubectl })
})
afterAll(async () => {
  operating.kill()
  deploying.kill()
  tools.close()
  await composition?.end()
  for (const directory of [checkout, temporary]) fs.rmSync(directory, { recursive: true, force: true })
})

const { keyPepper, masterKeys } = generateSecrets(new Date())
const keys = { SVC_MASTER_KEYS: masterKeys, SVC_KEY_PEPPER: keyPepper }
const exports = (env: Readonly<Record<string, string>>) =>
  `export ${Object.entries(env)
    .map(([name, value]) => `${name}='${value}'`)
    .join(" ")}`

describe.sequential("the guides for operators", () => {
  it.runIf(process.platform === "linux" && canMount)(
    "brings svc up by Compose, and replaces its nodes one after the other",
    async () => {
      const outputs = await runAll(checkout, shellBlocks("With Compose"))
      assert.match(outputs.join("\n"), /^svk_live_\S+$/m)
      assert.include(outputs.join("\n"), "300 of 300 shards are held.")
      assert.match(outputs.at(-1) ?? "", /^Release \d+ is confirmed already\.$/m)
      await composition?.end()
      composition = undefined
    },
    scaled(180_000)
  )

  it(
    "starts nodes on a Postgres, dumps it, and restores it on another one, from which svc goes on",
    async () => {
      const [server, other] = [await startInstalledPostgres(), await startInstalledPostgres()]
      try {
        const logins = await run(checkout, `npm run --silent svc -- migrate --admin-url ${server.url}`)
        const env = { ...parseEnv(logins), ...keys, SVC_DEFAULT_PLAN: "unlimited" } as Readonly<Record<string, string>>
        for (const { define } of [operating, deploying]) define(exports(env))
        const made = await run(checkout, `npm run --silent svc -- bootstrap --organisation Acme`)
        const apiKey = /^svk_live_\S+$/m.exec(made)?.[0] ?? assert.fail(made)
        const secret = randomBytes(32).toString("hex")
        const ports = [await freePort(), await freePort()]
        const outputs = await operating.runAll(checkout, operating.shellBlocks("Several nodes").slice(0, 2), (line) =>
          line
            .replace(/^export SVC_DATABASE_URL=… SVC_MASTER_KEYS=… SVC_KEY_PEPPER=…$/, "export SVC_LOG=json")
            .replace("$(openssl rand -hex 32)", secret)
            .replace("8001", String(ports[0]))
            .replace("8002", String(ports[1]))
            // Shards move within a second or two of a node's start.
            .replace(/^(.* cluster status)$/, "for n in 1 2 3 4 5 6 7 8 9 10; do $1 && break; sleep 0.5; done")
        )
        assert.include(outputs.at(-1), "300 of 300 shards are held.")
        const ask = (port: number | undefined, target: string, body?: object) =>
          fetch(`http://127.0.0.1:${port}${target}`, {
            method: body === undefined ? "GET" : "POST",
            headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
            ...(body === undefined ? {} : { body: JSON.stringify(body) })
          })
        const secretMade = await ask(ports[0], "/api/v1/secrets", { name: "KEPT", value: "sealed" })
        assert.strictEqual(secretMade.status, 201, await secretMade.text())

        const [dump, restore] = shellBlocks("Backup, restore and upgrade of Postgres")
        assert.isDefined(dump)
        assert.isDefined(restore)
        await runAll(checkout, [dump])
        await operating.stop()
        await server.stop()
        deploying.define(exports({ ADMINISTRATOR_URL: other.url }))
        deploying.ran.add(restore)
        const [print = "", ...lines] = linesOf(restore)
        await run(checkout, print)
        const roles = fs.readFileSync(path.join(checkout, "roles.sql"), "utf8")
        const printed = [...roles.matchAll(/^-- (SVC_\w+)=(\S+)$/gm)].map(([, name = "", url = ""]) => [
          name,
          url.replace("HOST:5432", other.address)
        ])
        assert.lengthOf(printed, 4)
        deploying.define(exports(Object.fromEntries(printed)))
        const restored: Array<string> = []
        for (const line of lines) restored.push(await run(checkout, line))
        assert.include(restored.join("\n"), "The database is up to date.")
        assert.include(restored.at(-1), " 0 unaccounted for")
        const port = await freePort()
        await run(checkout, `SVC_PORT=${port} npm run svc -- start --role all`)
        const kept = await ask(port, "/api/v1/secrets")
        assert.include(await kept.text(), "KEPT")
        await deploying.stop()
      } finally {
        for (const one of [server, other]) await one.stop()
      }
    },
    scaled(180_000)
  )

  it("starts several nodes on one machine, and replaces them", async () => {
    const alone = makeCheckout()
    try {
      const outputs = await operating.runAll(alone, operating.shellBlocks("Several nodes on one machine"), (line) =>
        // A machine of two cores starts one process for `auto`.
        line.replace("--nodes auto", "--nodes 2")
      )
      assert.lengthOf(outputs, 2)
      await operating.stop()
    } finally {
      fs.rmSync(alone, { recursive: true, force: true })
    }
  })

  it("deploys on Kubernetes what conforms to its API, with a Secret that is enough for a node", async () => {
    const logins = Object.fromEntries(
      ["OWNER", "WRITER", "APP", "AUDIT"].map((role) => [`SVC_DATABASE_URL_${role}`, "postgres://svc@db:5432/svc"])
    )
    const env = { ...logins, ...keys, SVC_CLUSTER_SECRET: randomBytes(32).toString("hex") }
    fs.writeFileSync(
      path.join(checkout, "svc.env"),
      Object.entries(env)
        .map(([name, value]) => `${name}=${value}\n`)
        .join("")
    )
    await runAll(checkout, shellBlocks("On Kubernetes"))
    assert.isAbove(applied.length, 5)
  })

  it.each([operating, deploying])("$file has no block of commands that was not run, and is short", (guide) => {
    assert.deepStrictEqual(
      guide.blocks.filter((block) => block.language === "sh" && !guide.ran.has(block)).map(({ place }) => place),
      []
    )
    assert.isAtMost(guide.text.trimEnd().split("\n").length, 400)
  })

  it("says what to do for each alert", () => {
    for (const { alert, annotations } of alertRules) {
      assert.include(operating.text, `\n### ${alert}\n`)
      assert.strictEqual(annotations.runbook, `docs/operate.md#${alert.toLowerCase()}`)
    }
  })
})
