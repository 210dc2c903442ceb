/** The client of the typed RPC knows every failure and every payload of the service. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { Failure } from "../../../src/domain/Failure.js"
import { rpcLimits } from "../../../src/domain/rpc/RpcLimits.js"
import { errorMembers } from "../../../src/http/ErrorMembers.js"
import { frameBytes } from "../../../src/http/rpc/client/Calls.js"
import { Failures, type RpcFailure, ServiceFailure, ServiceFailures } from "../../../src/http/rpc/client/Failures.js"
import { repetitions, SvcMethods } from "../../../src/http/rpc/client/Methods.js"
import { isStream, rpcMethods } from "../../../src/http/rpc/RpcMethods.js"

type Tag = Failure["_tag"] | "InternalError"

/** Compiles only while both sides have the same tags. */
const sameTags: { readonly [T in Tag]: (typeof ServiceFailures)[T] } & {
  readonly [T in keyof typeof ServiceFailures]: T extends Tag ? unknown : never
} = ServiceFailures

const common = {
  code: "A_CODE",
  statusCode: 409,
  message: "what is wrong",
  requestId: "req_1",
  retryable: false,
  details: [{ path: "a", code: "B", message: "c" }]
}
const quota = { dimension: "events_per_day", limit: 1, used: 1, resetAt: null }
const provider = { connector: "acme", status: 500, body: { a: 1 } }
const samples: { readonly [member: string]: unknown } = {
  quota,
  provider,
  managedBy: { kind: "workflow", id: "wf_1" },
  state: "ended",
  executionId: "exec_1",
  connector: "acme",
  category: "crm"
}

describe("each failure", () => {
  const members = (tag: string) =>
    Object.hasOwn(errorMembers, tag) ? Object.keys(errorMembers[tag as keyof typeof errorMembers].members.fields) : []

  it.each(Object.keys(sameTags))("%s decodes to an error of its own class, with its members", (tag) => {
    const own = Object.fromEntries(members(tag).map((name) => [name, samples[name]]))
    const wire = { _tag: tag, ...common, retryAfterSeconds: 3, ...own, laterMember: 1 }
    const failure = Schema.decodeUnknownSync(ServiceFailure)(wire)
    assert.instanceOf(failure, Error)
    assert.isTrue(failure instanceof ServiceFailures[tag as Tag])
    assert.strictEqual(failure.name, tag)
    const { _tag, ...shown } = Schema.encodeSync(ServiceFailure)(failure)
    assert.deepStrictEqual<object>(shown, { ...common, retryAfterSeconds: 3, ...own })
    const caught = Effect.fail<RpcFailure>(failure).pipe(
      Effect.catchTag(tag as Tag, ({ message }) => Effect.succeed(message))
    )
    assert.strictEqual(Effect.runSync(caught as Effect.Effect<unknown>), "what is wrong")
  })

  it("has only the members that the service sends", () => {
    for (const [tag, { fields }] of Object.entries(ServiceFailures)) {
      const own = Object.keys(fields).filter(
        (name) => !["_tag", "retryAfterSeconds"].includes(name) && !(name in common)
      )
      assert.sameMembers(own, members(tag), tag)
    }
    assert.sameMembers(Object.keys(Failures), [...Object.keys(ServiceFailures), "ConnectionLost", "UnexpectedAnswer"])
  })
})

describe("each method", () => {
  const namesOf = (schema: Schema.Schema.All | undefined): ReadonlyArray<string> => {
    const ast = schema?.ast
    if (ast === undefined) return []
    const type = Schema.encodedSchema(Schema.make(ast)).ast
    return type._tag === "TypeLiteral" ? type.propertySignatures.map(({ name }) => String(name)) : []
  }

  it("is known on both sides, with the members of its operation", () => {
    assert.sameMembers([...SvcMethods.requests.keys()], [...rpcMethods.keys()])
    assert.sameMembers(Object.keys(repetitions), [...rpcMethods.keys()])
    for (const [name, method] of rpcMethods) {
      if (isStream(method) || method.kind === "proxy") continue
      const { body, query } = method.contract.input
      const payload = SvcMethods.requests.get(name as never) as unknown as { readonly payloadSchema: Schema.Schema.All }
      const own = namesOf(payload.payloadSchema).filter((one) => !["customer", "user", "idempotencyKey"].includes(one))
      const isAwait = method.kind === "await"
      const asked = [
        ...namesOf(method.contract.method === "GET" ? query : body),
        ...(method.id === undefined ? [] : [method.id.member])
      ]
      // Each place of the use is named by the customer of the call, in REST by a parameter.
      const expected = name === "tenants.usage" ? [] : isAwait ? ["id"] : asked
      // Both spellings of a bound in time mean the same.
      assert.sameMembers(
        own,
        expected.filter((one) => one !== "from" && one !== "to"),
        name
      )
    }
  })

  it("has payloads as large as the service reads", () => {
    assert.deepStrictEqual(
      [frameBytes("executions.start"), frameBytes("connections.call")],
      [rpcLimits.frame, rpcLimits.callFrame]
    )
  })
})
