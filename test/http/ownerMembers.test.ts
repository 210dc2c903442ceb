/** No body can hold what only the service writes of a record: its owner, its id, its version and its times. */
import { assert, describe, it } from "@effect/vitest"
import { Either, Option, SchemaAST } from "effect"
import { decodeStrict } from "../../src/domain/SchemaIssues.js"
import type { Contract } from "../../src/http/operation/Contract.js"
import { surfaceA, surfaceB, surfaceC } from "../../src/http/operations/Surfaces.js"

/** Members of records, and columns, that the service alone writes. */
const owned = {
  organisationId: "org_00000000000000000000000000",
  org: "org_00000000000000000000000000",
  spaceId: "spc_00000000000000000000000000",
  space: "spc_00000000000000000000000000",
  id: "cus_00000000000000000000000000",
  version: 7,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
  createdBy: "key_00000000000000000000000000",
  shard: 1,
  epoch: 1
}

/** Members that clients give although a record has one of the same name, which means something else there. */
const given = new Set([
  "apiKeys.create spaceId: the workspace of the new key, which the caller must reach",
  "workflows.publish version: the version to deploy again",
  "tenantWorkflows.publish version: the version to deploy again",
  "drafts.restore version: the version on which the restoring is based",
  "executions.rerun version: which version of the workflow runs"
])
const isGiven = (place: string) => [...given].some((one) => one.startsWith(`${place}:`))

const isAnyObject = ({ input: { body } }: Contract) => body !== undefined && SchemaAST.isDeclaration(body.ast)

/** The members that a PUT takes only as they were read. */
const readOnly = ({ input: { body } }: Contract): ReadonlySet<string> =>
  new Set(
    body === undefined
      ? []
      : SchemaAST.getPropertySignatures(body.ast).flatMap(({ name, type }) => {
          const types = SchemaAST.isUnion(type) ? type.types : [type]
          const isRead = types.some((one) =>
            Option.exists(SchemaAST.getJSONSchemaAnnotation(one), (schema) => "readOnly" in schema)
          )
          return isRead ? [String(name)] : []
        })
  )

const withBody = [...surfaceA, ...surfaceB, ...surfaceC].filter(
  (one) => one.form.body === "record" && one.input.body !== undefined && !isAnyObject(one)
)

describe("a body", () => {
  it("is looked at for each operation that has one, but definitions of connectors, which have no such members", () => {
    assert.isAbove(withBody.length, 40)
    assert.deepStrictEqual(
      [...surfaceB, ...surfaceC].filter(isAnyObject).map(({ group, name }) => `${group}.${name}`),
      [
        "connectors.create",
        "connectors.update",
        "connectors.patch",
        "actions.create",
        "actions.update",
        "actions.newVersion",
        "authMethods.create",
        "authMethods.update",
        "webhookConfigs.upsert"
      ]
    )
  })

  it.each(withBody.map((one) => [`${one.group}.${one.name}`, one] as const))("of %s", (place, one) => {
    const decode = decodeStrict(one.input.body ?? assert.fail("it has no body"))
    const compared = readOnly(one)
    for (const [member, value] of Object.entries(owned)) {
      // The version that a change is based on is compared, never stored.
      const isExpected = one.method === "PUT" && member === "version"
      if (isExpected || compared.has(member) || isGiven(`${place} ${member}`)) continue
      const sent = { ...(one.example instanceof Object ? one.example : {}), [member]: value }
      const decoded = decode(sent)
      assert.isTrue(Either.isLeft(decoded), `${member} is taken`)
      if (Either.isLeft(decoded))
        assert.isTrue(
          decoded.left.some(({ path }) => path[0] === member),
          member
        )
    }
  })

  it("takes as read-only what a PUT answers, and nothing in any other body", () => {
    for (const one of withBody)
      if (one.method !== "PUT") assert.deepStrictEqual([...readOnly(one)], [], `${one.group}.${one.name}`)
  })
})
