/** Embed sessions: which token is valid when, what a session may do, and when it is over. */
import { assert, describe, it } from "@effect/vitest"
import { createHmac } from "node:crypto"
import type { ApiKey } from "../../src/domain/access/ApiKey.js"
import {
  EmbedSession,
  embedToken,
  embedTokenHash,
  embedTokenPattern,
  embedTokenRefusal,
  endedRefusal,
  openedEmbedSession,
  sessionRights,
  sessionScope,
  sessionsCeiling,
  withNextToken
} from "../../src/domain/access/EmbedSession.js"
import { ApiKeyId, CustomerId, EmbedSessionId, OrganisationId, SpaceId } from "../../src/domain/Ids.js"
import { presetPermissions, toMatrix } from "../../src/domain/access/Permission.js"

const keyHash = (text: string) => createHmac("sha256", "pepper").update(text).digest("hex")
const ulid = "0".repeat(26)
const id = EmbedSessionId.make(`ems_${ulid}`)
const minute = 60_000
const day = 24 * 60 * minute

const opened = (seconds = 900, now = 0): EmbedSession =>
  EmbedSession.create(
    { permissions: toMatrix(presetPermissions("end_user")), allowedOrigins: [], theme: {}, locale: "en" },
    {
      organisationId: OrganisationId.make(`org_${ulid}`),
      spaceId: SpaceId.make(`spc_${ulid}`),
      keyId: ApiKeyId.make(`key_${ulid}`),
      customerId: CustomerId.make(`cus_${ulid}`),
      ...openedEmbedSession(keyHash, id, seconds, now)
    },
    new Date(now).toISOString()
  )

const hashOf = (number: number) => embedTokenHash(keyHash, embedToken(keyHash, id, number))
const codeOf = (session: EmbedSession, number: number, now: number, toRefresh = false) =>
  embedTokenRefusal(session, hashOf(number), now, toRefresh)?.code ?? "valid"

describe("a token", () => {
  it("has the form of its kind, is the same whenever it is made, and unlike that of another number or session", () => {
    const token = embedToken(keyHash, id, 1)
    assert.match(token, embedTokenPattern)
    assert.strictEqual(token, embedToken(keyHash, id, 1))
    const others = [embedToken(keyHash, id, 2), embedToken(keyHash, EmbedSessionId.make(`ems_${"1".repeat(26)}`), 1)]
    assert.notInclude(others, token)
    assert.notInclude(opened().tokenHash, token.slice(4))
  })

  it("is valid for its seconds, and refreshed for five minutes more", () => {
    const session = opened(60)
    assert.deepStrictEqual(
      [0, minute - 1, minute].map((now) => codeOf(session, 1, now)),
      ["valid", "valid", "TOKEN_EXPIRED"]
    )
    assert.deepStrictEqual(
      [minute, 6 * minute - 1, 6 * minute].map((now) => codeOf(session, 1, now, true)),
      ["valid", "valid", "TOKEN_EXPIRED"]
    )
  })

  it("that was refreshed is valid for 60 seconds, to call and to refresh", () => {
    const session = withNextToken(keyHash, opened(), 5 * minute)
    for (const toRefresh of [false, true])
      assert.deepStrictEqual(
        [5 * minute, 6 * minute - 1, 6 * minute].map((now) => codeOf(session, 1, now, toRefresh)),
        ["valid", "valid", "TOKEN_EXPIRED"]
      )
    assert.strictEqual(codeOf(session, 2, 19 * minute), "valid")
    const third = withNextToken(keyHash, session, 6 * minute)
    assert.strictEqual(codeOf(third, 1, 6 * minute), "TOKEN_EXPIRED")
  })

  it("never outlives its session", () => {
    const session = withNextToken(keyHash, opened(28_800), 7 * day - minute)
    assert.strictEqual(session.tokenExpiresAt, session.expiresAt)
    const ended = withNextToken(keyHash, opened(60), 7 * day - 1)
    assert.strictEqual(ended.replacedUntil, ended.expiresAt)
  })
})

describe("a session", () => {
  const { customerId } = opened()
  const reaching: object = { revokedAt: null, expiresAt: null, customersMode: "subset", customerIds: [customerId] }
  const key = reaching as ApiKey
  const customer = { status: "active" } as const
  const over = (change: Partial<Parameters<typeof endedRefusal>[0]>, now = 0) =>
    endedRefusal({ session: opened(), key, customer, ...change }, now)?.code ?? "lasts"

  it("ends after seven days, by itself, and with its key and its customer", () => {
    assert.deepStrictEqual([over({}), over({}, 7 * day - 1), over({}, 7 * day)], ["lasts", "lasts", "SESSION_EXPIRED"])
    const at = new Date(0).toISOString()
    assert.deepStrictEqual(
      [
        over({ session: { ...opened(), endedAt: at } }),
        over({ key: { ...key, revokedAt: at } }),
        over({ key: { ...key, expiresAt: at } }),
        over({ key: { ...key, customerIds: [] } }),
        over({ customer: { status: "suspended" } }),
        over({ customer: { status: "deleted" } })
      ],
      Array.from({ length: 6 }, () => "SESSION_EXPIRED")
    )
  })

  it("may do what an end user may, was asked for, and its key may now", () => {
    const rights = (asked: object, ofKey: object) => [
      ...sessionRights({ permissions: { ...asked } }, { permissions: { ...ofKey } })
    ]
    assert.deepStrictEqual(
      rights({ connections: ["read", "create", "decrypt"] }, { connections: ["read", "decrypt"] }),
      ["connections:read"]
    )
    assert.deepStrictEqual(
      rights({ secrets: ["read"], workflows: ["deploy_prod"] }, toMatrix(presetPermissions("full_access"))),
      []
    )
    assert.sameMembers(rights(toMatrix(presetPermissions("full_access")), toMatrix(presetPermissions("full_access"))), [
      ...presetPermissions("end_user")
    ])
  })

  it("is narrowed to its connectors within its key's scope", () => {
    const scope = (connectors: ReadonlyArray<string> | null, ids?: ReadonlyArray<string>) => [
      ...(sessionScope(
        { connectors },
        { resourceScope: ids === undefined ? [] : [{ type: "connector", ids: [...ids] }] }
      ).connector ?? ["all"])
    ]
    assert.deepStrictEqual(scope(null), ["all"])
    assert.deepStrictEqual(scope(["a", "b"]), ["a", "b"])
    assert.deepStrictEqual(scope(null, ["b"]), ["b"])
    assert.deepStrictEqual(scope(["a", "b"], ["b", "c"]), ["b"])
  })

  it("shares ten times its plan's calls with the others", () => {
    assert.deepStrictEqual(
      [60, null].map((apiCallsPerMinute) => sessionsCeiling({ apiCallsPerMinute })),
      [600, null]
    )
  })
})
