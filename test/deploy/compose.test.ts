/** `compose.yaml` is valid, asks for what it needs, and gives its containers what the image and svc know. */
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { settings } from "../../src/runtime/configuration/SettingTable.js"
import {
  composeDocument,
  type ComposeFile,
  composeText,
  composeVariables,
  readCompose,
  serviceOf
} from "../support/deploy/Compose.js"
import { imageOf, readDockerfile, root } from "../support/deploy/Dockerfile.js"
import { composeProblems } from "../support/deploy/Schemas.js"

const passwords = { POSTGRES_PASSWORD: "administrators", DATABASE_PASSWORD: "logins", NATS_PASSWORD: "brokers" }
const file = readCompose(passwords)
const nodes = Object.entries(file.services).filter(([, { command }]) => command?.[0] === "start")
const of = (role: string) => nodes.filter(([, { command }]) => command?.[2] === role)

describe("compose.yaml", () => {
  it("conforms to the Compose specification, before and after its variables are put in", () => {
    assert.deepStrictEqual(composeProblems(composeDocument()), [])
    assert.deepStrictEqual(composeProblems(file), [])
  })

  it("would not conform with a member that the specification does not have, or of another type", () => {
    const { services } = file
    const broken = (more: object): ComposeFile =>
      ({ ...file, services: { ...services, nats: { ...services["nats"], ...more } } }) as ComposeFile
    assert.isNotEmpty(composeProblems(broken({ comand: ["nats-server"] })))
    assert.isNotEmpty(composeProblems(broken({ read_only: "yes, please" })))
    assert.isNotEmpty(composeProblems(broken({ depends_on: { postgres: {} } })))
  })

  it("starts Postgres, NATS with a login, two nodes that serve and three that work, from pinned images", () => {
    assert.lengthOf(of("api"), 2)
    assert.lengthOf(of("runner"), 3)
    assert.lengthOf(nodes, 5)
    for (const [name, { image }] of Object.entries(file.services))
      assert.match(image, name === "postgres" || name === "nats" ? /:\d+\.\d+(?:\.\d+)?-\w+$/ : /^svc$/)
    assert.includeMembers([...(serviceOf(file, "nats").command ?? [])], ["--user", "svc", "--pass", "brokers"])
  })

  it("is refused by Compose without a password, and by svc without its own secrets", () => {
    const { all, required } = composeVariables()
    assert.sameMembers(required, Object.keys(passwords))
    for (const name of required) {
      const { [name as keyof typeof passwords]: _, ...others } = passwords
      assert.throws(() => readCompose(others), new RegExp(`${name} is missing a value: set the password`))
    }
    const known = new Set([...settings.map((one) => one.name), ...required, "IMAGE", "NODE_MEMORY", "PREVIOUS_IMAGE"])
    assert.deepStrictEqual(
      all.filter((name) => !known.has(name)),
      []
    )
  })

  it("has no secret of its own", () => {
    const secrets = settings.filter(({ secret }) => secret).map(({ name }) => name)
    for (const [, name = "", value = ""] of composeText().matchAll(/^\s+(\w+): (.+)$/gm))
      if (secrets.includes(name) || /PASSWORD/.test(name)) assert.match(value, /\$\{\w+/, name)
  })

  it.each(nodes)(
    "gives %s only variables that svc has, and the address of its own",
    (name, { command, environment }) => {
      const variables = Object.keys(environment ?? {})
      assert.deepStrictEqual(
        variables.filter((one) => !settings.some((setting) => setting.name === one)),
        []
      )
      const isRunner = command?.[2] === "runner"
      assert.strictEqual(environment?.["SVC_NODE_ADDRESS"], isRunner ? `${name}:7400` : undefined)
      assert.strictEqual(environment?.["SVC_NODE_LISTEN"], isRunner ? "0.0.0.0" : undefined)
    }
  )

  it.each(nodes)("lets %s write to a volume of its own and to memory only, without privileges", (name, service) => {
    const { cap_drop, read_only, security_opt, tmpfs } = service
    assert.deepStrictEqual(
      [read_only, tmpfs, cap_drop, security_opt],
      [true, ["/tmp"], ["ALL"], ["no-new-privileges:true"]]
    )
    const { volumes } = imageOf(readDockerfile())
    assert.deepStrictEqual(service.volumes, [`${name}:${volumes.join()}`])
    assert.property(file.volumes, name)
    // Open requests are answered first, for as long as SVC_SHUTDOWN_GRACE.
    assert.isAbove(Number.parseInt(service.stop_grace_period ?? "", 10), 30)
  })

  it("waits for the database to be migrated, and mounts what exists", () => {
    for (const [, { depends_on }] of nodes)
      assert.deepStrictEqual(depends_on?.["migrate"], { condition: "service_completed_successfully" })
    assert.deepStrictEqual(serviceOf(file, "migrate").depends_on, { postgres: { condition: "service_healthy" } })
    for (const mounted of Object.values(file.services).flatMap(({ volumes = [] }) => volumes)) {
      const [from = ""] = mounted.split(":")
      if (from.startsWith(".")) assert.isTrue(fs.existsSync(path.join(root, from)), mounted)
      else assert.property(file.volumes, from)
    }
  })

  it("creates the logins as svc does", () => {
    const logins = fs.readFileSync(path.join(root, "deploy/compose/logins.sql"), "utf8")
    const source = fs.readFileSync(path.join(root, "src/runtime/postgres/database/Roles.ts"), "utf8")
    const [, attributes = "none"] = /const attributes = "([^"]+)"/.exec(source) ?? []
    for (const role of ["svc_owner", "svc_writer", "svc_app", "svc_audit_reader"])
      assert.include(logins, `CREATE ROLE ${role} ${attributes} PASSWORD :'password';`)
  })
})
