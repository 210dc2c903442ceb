import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import {
  type Connection,
  type ConnectionStatus,
  connectionStatuses
} from "../../../src/domain/connection/Connection.js"
import {
  outboundEventType,
  type ConnectionStateCommand,
  decide,
  evolve
} from "../../../src/domain/connection/ConnectionStates.js"
import type { ConnectionId, CustomerId, OrganisationId } from "../../../src/domain/Ids.js"

const at = "2026-11-21T07:00:00.000Z"
const now = Date.parse(at)
const day = 24 * 3_600_000

const connection = (status: ConnectionStatus, more: Partial<Connection> = {}): Connection => ({
  // Ids are not checked here.
  id: "conn_1" as ConnectionId,
  organisationId: "org_1" as OrganisationId,
  customerId: "cus_1" as CustomerId,
  connector: "acme",
  connectorVersion: "1.0.0",
  userId: null,
  label: "Acme",
  accountLabel: "ada@example.com",
  authMethod: "oauth",
  authProvider: null,
  status,
  health: { state: "ok", lastCheckedAt: null, lastError: null, consecutiveFailures: 0 },
  config: { subdomain: "ada" },
  scopes: ["read"],
  isDefault: true,
  expiresAt: null,
  lastRefreshAt: null,
  refreshFailedAt: null,
  lastUsedAt: null,
  metadata: {},
  tags: { team: "a" },
  credentialFingerprint: "0a0b0c0d",
  createdBy: "key_1",
  createdAt: at,
  updatedAt: at,
  version: 3,
  ...more
})

const facts = {
  authMethod: "oauth",
  authProvider: null,
  connectorVersion: "1.1.0",
  accountLabel: null,
  config: {},
  scopes: ["read"],
  expiresAt: null,
  fingerprint: "11111111"
}

const commands = {
  activate: { _tag: "Activate", facts },
  refuse: { _tag: "Refuse", reason: "access_denied" },
  refreshed: { _tag: "NoteRefresh", expiresAt: at, scopes: [], fingerprint: "22222222" },
  transient: { _tag: "NoteRefreshFailure", lost: false, reason: "503" },
  lost: { _tag: "NoteRefreshFailure", lost: true, reason: "invalid_grant" },
  reject: { _tag: "Reject", reason: "401 twice" },
  disable: { _tag: "Disable" },
  enable: { _tag: "Enable" },
  disconnect: { _tag: "Disconnect" }
} as const satisfies { readonly [name: string]: ConnectionStateCommand }

/** The resulting status and the outbound event of each command; `-` if it is refused. */
const outcome = (before: Connection, command: ConnectionStateCommand): string =>
  Either.match(decide(before, command, now), {
    onLeft: () => "-",
    onRight: (event) => {
      const told = outboundEventType(before, event)
      return `${evolve(before, event, at).status}${told === null ? "" : ` ${told.slice("connection.".length)}`}`
    }
  })

describe("the table of states", () => {
  const table: { readonly [command in keyof typeof commands]: { readonly [from in ConnectionStatus]: string } } = {
    activate: {
      pending: "active created",
      active: "active",
      inactive: "active reactivated",
      expired: "active reactivated",
      failed: "active reactivated",
      disconnected: "-"
    },
    refuse: {
      pending: "failed failed",
      active: "-",
      inactive: "-",
      expired: "-",
      failed: "-",
      disconnected: "-"
    },
    refreshed: { pending: "-", active: "active", inactive: "inactive", expired: "-", failed: "-", disconnected: "-" },
    transient: {
      pending: "-",
      active: "active refresh_failed",
      inactive: "inactive refresh_failed",
      expired: "-",
      failed: "-",
      disconnected: "-"
    },
    lost: {
      pending: "-",
      active: "expired expired",
      inactive: "expired expired",
      expired: "-",
      failed: "-",
      disconnected: "-"
    },
    reject: { pending: "-", active: "failed failed", inactive: "-", expired: "-", failed: "-", disconnected: "-" },
    disable: { pending: "-", active: "inactive", inactive: "-", expired: "-", failed: "-", disconnected: "-" },
    enable: {
      pending: "-",
      active: "-",
      inactive: "active reactivated",
      expired: "-",
      failed: "-",
      disconnected: "-"
    },
    disconnect: {
      pending: "disconnected deleted",
      active: "disconnected deleted",
      inactive: "disconnected deleted",
      expired: "disconnected deleted",
      failed: "disconnected deleted",
      disconnected: "-"
    }
  }
  const names: ReadonlyArray<keyof typeof commands> = [
    "activate",
    "refuse",
    "refreshed",
    "transient",
    "lost",
    "reject",
    "disable",
    "enable",
    "disconnect"
  ]
  it.each(names.flatMap((name) => connectionStatuses.map((from) => [name, from] as const)))(
    "%s of one that is %s",
    (name, from) => assert.strictEqual(outcome(connection(from), commands[name]), table[name][from])
  )
})

describe("a connection whose refreshes fail", () => {
  const fail = (before: Connection, reason = "503") =>
    evolve(before, Either.getOrThrow(decide(before, { _tag: "NoteRefreshFailure", lost: false, reason }, now)), at)

  it("is degraded, counts the failures with the reason, and is announced once", () => {
    const first = fail(connection("active"))
    assert.deepStrictEqual(first.health, {
      state: "degraded",
      lastCheckedAt: at,
      lastError: "503",
      consecutiveFailures: 1
    })
    const second = fail(first, "reset")
    assert.strictEqual(second.health.consecutiveFailures, 2)
    assert.strictEqual(outcome(first, commands.transient), "active")
    assert.strictEqual(second.version, 3, "a client's If-Match is not disturbed")
  })

  it("expires after four days, and not before", () => {
    const since = (millis: number) => connection("active", { refreshFailedAt: new Date(now - millis).toISOString() })
    assert.strictEqual(outcome(since(4 * day - 1), commands.transient), "active")
    assert.strictEqual(outcome(since(4 * day), commands.transient), "expired expired")
  })

  it("is healthy again after one that succeeds", () => {
    const before = fail(connection("active"))
    const after = evolve(before, Either.getOrThrow(decide(before, commands.refreshed, now)), at)
    assert.strictEqual(after.health.state, "ok")
    assert.isNull(after.refreshFailedAt)
  })
})

it("the record of a disconnected connection has no personal data", () => {
  const before = connection("active")
  const left = evolve(before, Either.getOrThrow(decide(before, commands.disconnect, now)), at)
  assert.deepStrictEqual(
    [left.accountLabel, left.config, left.tags, left.credentialFingerprint, left.isDefault],
    [null, {}, {}, null, false]
  )
})
