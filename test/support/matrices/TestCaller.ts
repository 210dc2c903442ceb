/** A caller of a test: how it is made, whatever its kind, and what its credential is. */
import { assert } from "@effect/vitest"
import type { Permission, Preset } from "../../../src/domain/access/Permission.js"
import type { CredentialReader } from "../../../src/http/auth/Credentials.js"
import type { Scope } from "../endpointWorld.js"
import type { Running } from "../InProcess.js"

/** What a caller may do and reach; absent members: all. */
export interface CallerRights {
  /** A preset's permissions, or these. */
  readonly permissions?: Exclude<Preset, "custom"> | ReadonlyArray<Permission>
  readonly scope?: Scope
  /** The customers that it reaches. */
  readonly customers?: ReadonlyArray<string>
}

/** A caller as a test sends requests and finds it in the audit trail. */
export interface TestCaller {
  readonly id: string
  readonly name: string
  /** The text that it sends in the headers for credentials. */
  readonly credential: string
}

/** Makes callers of one kind. */
export interface TestCallers {
  /** How titles of tests and messages name one: key, user. */
  readonly noun: string
  /** The type of its audit entries' actor. */
  readonly actorType: string
  /** What recognises their credentials, besides the service itself. */
  readonly readers: ReadonlyArray<CredentialReader>
  readonly make: (svc: Running, rights?: CallerRights) => Promise<TestCaller>
}

let names = 0

/** Permissions as a request for a key states them. */
const grouped = (permissions: ReadonlyArray<Permission>) => {
  const groups: { [group: string]: Array<string> } = {}
  for (const [group = "", name = ""] of permissions.map((one) => one.split(":"))) (groups[group] ??= []).push(name)
  return groups
}

export const keyCallers: TestCallers = {
  noun: "key",
  actorType: "service_account",
  readers: [],
  make: async (svc, { customers, permissions = "full_access", scope = [] } = {}) => {
    const name = `caller ${(names += 1)}`
    const made = await svc.ask("POST", "/api/v1/api-keys", {
      key: svc.first.key,
      body: {
        name,
        mode: "live",
        resourceScope: scope,
        ...(typeof permissions === "string"
          ? { preset: permissions }
          : { preset: "custom", permissions: grouped(permissions) }),
        ...(customers === undefined ? {} : { customers: { mode: "subset", ids: customers } })
      }
    })
    assert.strictEqual(made.status, 201, made.text)
    return { id: made.body.data.id, name, credential: made.body.data.key }
  }
}
