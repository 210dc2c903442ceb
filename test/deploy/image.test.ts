/**
 * What compose.yaml and the Dockerfile say runs as they say it: commands, user, variables, read-only folders; as processes of this
 * machine instead of containers.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { randomBytes } from "node:crypto"
import { generateSecrets } from "../../src/runtime/vault/InstallationSecrets.js"
import { type Api, apiOf } from "../support/api.js"
import { serviceOf } from "../support/deploy/Compose.js"
import { type Composition, startComposition } from "../support/deploy/Composition.js"
import { kustomized } from "../support/deploy/Kustomize.js"
import { announce } from "../support/LogExpectations.js"
import { canMount } from "../support/smallDisk.js"
import { scaled } from "../support/slowness.js"

const { keyPepper, masterKeys } = generateSecrets(new Date())
const env = {
  POSTGRES_PASSWORD: "administrators",
  DATABASE_PASSWORD: "logins",
  NATS_PASSWORD: "brokers",
  SVC_MASTER_KEYS: masterKeys,
  SVC_KEY_PEPPER: keyPepper,
  SVC_CLUSTER_SECRET: randomBytes(32).toString("hex"),
  SVC_RUNNERS: "1"
}

describe.runIf(process.platform === "linux" && canMount).sequential("the composition", () => {
  let composition: Composition
  let nodes: ReadonlyArray<string> = []
  beforeAll(async () => {
    composition = await startComposition(53, env)
    nodes = await composition.up()
  }, scaled(180_000))
  afterAll(() => composition.end())

  const clientOf = (name: string, apiKey: string): Api =>
    apiOf({ baseUrl: composition.urlOf(name), apiKey } as Api["dev"])

  it("is ready as a whole, by the healthcheck of the file, with all shards held", async () => {
    assert.sameMembers([...nodes], ["api-1", "api-2", "runner-1", "runner-2", "runner-3"])
    for (const name of nodes) {
      const [kind, program = "", ...words] = serviceOf(composition.file, name).healthcheck?.test ?? []
      assert.strictEqual(kind, "CMD")
      const own = words.map((word) => word.replace("127.0.0.1", composition.addressOf(name)))
      await composition.exec(name, own, [program])
    }
    const status = await composition.exec("api-1", ["cluster", "status"])
    assert.include(status, "300 of 300 shards are held.")
    for (const name of ["runner-1", "runner-2", "runner-3"]) assert.include(status, `${name}:7400`)
  })

  it("runs as the image's user, who can write nothing but its volume and /tmp", async () => {
    const sh = (script: string) => composition.exec("runner-1", ["-c", script], ["sh"])
    assert.strictEqual((await sh("id -u; id -g")).trim(), "10001\n10001")
    assert.include(await sh("grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status"), "NoNewPrivs:\t1")
    assert.match(await sh("cat /proc/self/status"), /CapEff:\t0+\n(?:.*\n)*?CapBnd:\t0+\n/)
    for (const folder of ["/srv/svc", "/srv/svc/dist", "/var/lib", "/etc", "/"])
      assert.include(await sh(`touch ${folder}/written 2>&1 || echo refused`), "refused", folder)
    for (const folder of ["/var/lib/svc", "/tmp"]) await sh(`touch ${folder}/written`)
    assert.notInclude(await sh("env"), "POSTGRES_PASSWORD")
  })

  it("runs a workflow that comes in at one node that serves, and shows it at the other", async () => {
    const made = await composition.exec("api-1", ["bootstrap", "--organisation", "Acme"])
    const key = /^svk_live_\S+$/m.exec(made)?.[0] ?? assert.fail(made)
    const [first, second] = [clientOf("api-1", key), clientOf("api-2", key)]
    const workflow = await first.workflow("echo", "instant", "export default async (ctx) => ctx.input.n + 1")
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        (n % 2 === 0 ? first : second).call("POST", `/api/v1/workflows/${workflow}/execute`, { input: { n } })
      )
    )
    for (const [n, answer] of answers.entries()) assert.deepStrictEqual([answer.status, answer.body], [200, n + 1])
    const { body } = await second.call("GET", "/api/v1/executions?status=completed")
    assert.lengthOf(body.data, 20)
  })

  it("takes events over the NATS server of the file, with its login", async () => {
    // A node that only serves commits events and leaves them to the others.
    for (const name of nodes.filter((one) => one.startsWith("runner"))) {
      const { checks } = JSON.parse(await (await fetch(`${composition.urlOf(name)}/readyz`)).text())
      assert.deepInclude(checks.events, { ok: true, driver: "jetstream" }, name)
    }
  })

  it("has, of every setting of a node that is missing or contradictory, its name in the refusal, all at once", async () => {
    announce(/svc cannot start with this configuration|^ {2}SVC_/)
    const variables = serviceOf(composition.file, "runner-1").environment ?? {}
    const without = (...names: ReadonlyArray<string>) =>
      Object.fromEntries(Object.entries(variables).filter(([name]) => !names.includes(name)))
    let starts = 0
    const refused = async (given: Readonly<Record<string, string>>) => {
      const { ended, errors } = composition.image.start({
        command: ["start", "--role", "runner"],
        env: { ...given, SVC_HOST: composition.addressOf("migrate") },
        volume: composition.image.makeVolume(`refused-${(starts += 1)}`),
        hosts: {}
      })
      assert.strictEqual(await ended, 1)
      return errors()
    }
    const own = ["SVC_MASTER_KEYS", "SVC_KEY_PEPPER", "SVC_CLUSTER_SECRET"]
    const missing = ["SVC_DATABASE_URL_WRITER", "SVC_NODE_ADDRESS", ...own]
    const said = await refused({ ...without(...missing), SVC_NATS_URL: "http://nats:4222" })
    for (const name of missing) assert.include(said, `${name} is missing`)
    assert.include(said, "SVC_NATS_URL must be")
    // As a Secret without a key leaves it.
    const [configuration] = kustomized("deploy/kubernetes/base").filter(({ kind }) => kind === "ConfigMap")
    const bare = await refused({ ...configuration?.data, SVC_NODE_LISTEN: "0.0.0.0", SVC_RUNNERS: "0" })
    for (const name of ["SVC_DATABASE_URL", "SVC_CLUSTER_SECRET", "SVC_NODE_ADDRESS"])
      assert.include(bare, `${name} is missing`)
    assert.include(bare, "SVC_RUNNERS must be")
  })

  it("stops in order, each node by itself, and the file gives time for that", async () => {
    assert.deepStrictEqual(
      await composition.stop(),
      nodes.map((name) => [name, 0])
    )
    // A node whose stop takes longer than 30 s, its default, ends with 1: the file gives more.
    assert.isAbove(Number.parseInt(serviceOf(composition.file, "api-1").stop_grace_period ?? "", 10), 30)
  })
})
