/**
 * Calls a connector by its definition as the service does, without the service: request, credential, answer, next page.
 */
import { createHash } from "node:crypto"
import { Validator } from "@cfworker/json-schema"
import { Either } from "effect"
import { assert } from "vitest"
import { actionResult } from "../../src/domain/connector/request/ActionResult.js"
import { buildRequest } from "../../src/domain/connector/request/UnsignedRequest.js"
import { findAction, type ConnectorDefinition } from "../../src/domain/connector/Definition.js"
import { injectedParts, injectParts } from "../../src/domain/connector/request/Injection.js"
import { withoutPageMemory } from "../../src/domain/connector/request/PageMemory.js"
import { pageItems, nextPageArgs } from "../../src/domain/connector/request/Pagination.js"
import type { ProviderAnswer, ProviderFailure } from "../../src/domain/connector/request/ProviderAnswer.js"
import type { Json, JsonObject } from "../../src/domain/Json.js"
import { compiledPatterns } from "./patterns.js"

/** A connected account: what the service stores as a connection. */
export interface Account {
  readonly method: string
  readonly credential: Readonly<Record<string, string>>
  readonly config?: JsonObject
}

export interface Caller {
  readonly call: (action: string, args?: JsonObject) => Promise<Either.Either<Json, ProviderFailure>>
  /** The result. Fails the test if the call fails. */
  readonly result: (action: string, args?: JsonObject) => Promise<Json>
  /** The failure. Fails the test if the call succeeds. */
  readonly failure: (action: string, args?: JsonObject) => Promise<ProviderFailure>
  /** The items of each page, up to the last page. */
  readonly pages: (action: string, args?: JsonObject) => Promise<ReadonlyArray<ReadonlyArray<Json>>>
  /** The answer before it is read as a result. */
  readonly answer: (
    action: string,
    args?: JsonObject,
    idempotencyKey?: string
  ) => Promise<ProviderAnswer & { readonly url: string }>
}

/** The definition with every https origin replaced by `origin`. A base URL from the config stays. */
export const withOrigin = (definition: ConnectorDefinition, origin: string): ConnectorDefinition => {
  const moved = (url: string) => url.replace(/^https:\/\/[^/]*/, origin)
  const base = /^https:\/\/[^/]*(.*)$/.exec(definition.baseUrl)?.[1]
  return {
    ...definition,
    baseUrl: base === undefined ? definition.baseUrl : origin,
    auth: definition.auth.map((method) =>
      method.type === "oauth2"
        ? {
            ...method,
            tokenUrl: moved(method.tokenUrl),
            ...(method.authorizationUrl === undefined ? {} : { authorizationUrl: moved(method.authorizationUrl) }),
            ...(method.revocationUrl === undefined ? {} : { revocationUrl: moved(method.revocationUrl) })
          }
        : method
    ),
    actions: definition.actions.map((action) => ({
      ...action,
      request: {
        ...action.request,
        path: action.request.path.startsWith("https:")
          ? action.request.path.replace(/^https:\/\/[^/]*/, "")
          : `${base ?? ""}${action.request.path}`
      }
    }))
  }
}

export const makeCaller = (original: ConnectorDefinition, origin: string, account: Account): Caller => {
  const definition = withOrigin(original, origin)
  let calls = 0
  const answer: Caller["answer"] = async (name, args = {}, idempotencyKey = idempotencyKeyOf(++calls)) => {
    const action = named(definition, name)
    const input = { args, config: account.config ?? {}, idempotencyKey }
    const request = Either.getOrThrowWith(
      Either.flatMap(buildRequest(definition, action, input), (unsigned) =>
        Either.flatMap(injected(definition, account), (parts) => injectParts(unsigned, parts))
      ),
      (mistake) => new Error(`${name}: ${mistake.path} ${mistake.message}`)
    )
    const response = await fetch(request.url, {
      method: request.method,
      headers: request.headers.map(([key, value]): [string, string] => [key, value]),
      body: bodyOf(request.body),
      redirect: "manual"
    })
    return {
      url: request.url,
      status: response.status,
      headers: [...response.headers],
      body: new Uint8Array(await response.arrayBuffer())
    }
  }
  const call: Caller["call"] = async (name, args) =>
    actionResult(definition, named(definition, name), await answer(name, args), Date.now(), compiledPatterns, args)
  return {
    answer,
    call,
    result: async (name, args) =>
      Either.getOrThrowWith(await call(name, args), (failure) => new Error(`${name}: ${JSON.stringify(failure)}`)),
    failure: async (name, args) =>
      Either.getOrThrowWith(Either.flip(await call(name, args)), () => new Error(`${name} succeeded`)),
    pages: async (name, args = {}) => {
      const action = named(definition, name)
      const pages: Array<ReadonlyArray<Json>> = []
      for (let next: Json | null = args; next !== null;) {
        const given: JsonObject = objectOf(withoutPageMemory(next))
        const one = await answer(name, given)
        const result = actionResult(definition, action, one, Date.now(), compiledPatterns, given)
        if (Either.isLeft(result)) throw new Error(`${name}: ${JSON.stringify(result.left)}`)
        pages.push(pageItems(action, result.right))
        if (pages.length > 50) throw new Error(`${name} never ends`)
        next = Either.getOrThrow(nextPageArgs(action, objectOf(next), one, one.url))
      }
      return pages
    }
  }
}

/** The Idempotency-Key of the nth call: a hash of the length that the service uses. */
export const idempotencyKeyOf = (call: number): string => createHash("sha256").update(String(call)).digest("hex")

/** The arguments of each action, and the check of its result. */
export type Calls = Readonly<Record<string, readonly [args: JsonObject, check: (result: Json) => void]>>

/** Calls every action once, checks arguments and results against the schemas, and fails if an action is missing. */
export const callEveryAction = async (definition: ConnectorDefinition, caller: Caller, calls: Calls): Promise<void> => {
  const names = definition.actions.map((action) => action.name)
  assert.sameMembers(Object.keys(calls), names, "every action is called")
  for (const [name, [args, check]] of Object.entries(calls)) {
    const action = named(definition, name)
    assertConforms(action.inputSchema, args, `${name}'s arguments`)
    const result = await caller.result(name, args)
    assertConforms(action.outputSchema, result, `${name}'s result`)
    check(result)
  }
}

/** Fails the test if the value does not conform to the JSON Schema. */
export const assertConforms = (schema: JsonObject, value: Json, what: string): void => {
  const { errors, valid } = new Validator({ ...schema }, "2020-12", false).validate(value)
  assert.isTrue(valid, `${what}: ${errors.map((error) => `${error.instanceLocation} ${error.error}`).join("; ")}`)
}

/** A check that the result has at least these members. */
export const hasMembers =
  (members: JsonObject) =>
  (result: Json): void =>
    assert.deepInclude(objectOf(result), members)

/** A check of the number of items in a member of the result. */
export const hasItems =
  (member: string, count: number) =>
  (result: Json): void =>
    assert.lengthOf(listOf(objectOf(result)[member]), count)

export const anything = (): void => undefined

export const objectOf = (value: Json | undefined): JsonObject => {
  if (typeof value !== "object" || value === null || isList(value))
    throw new Error(`${JSON.stringify(value)} is no object`)
  return value
}

export const listOf = (value: Json | undefined): ReadonlyArray<Json> => {
  if (value === undefined || !isList(value)) throw new Error(`${JSON.stringify(value)} is no list`)
  return value
}

const isList = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)

const named = (definition: ConnectorDefinition, name: string) => {
  const action = findAction(definition, name)
  if (action === undefined) throw new Error(`${definition.slug} has no action ${name}`)
  return action
}

const injected = (definition: ConnectorDefinition, account: Account) => {
  const method = definition.auth.find((one) => one.id === account.method)
  if (method === undefined) throw new Error(`${definition.slug} has no auth method ${account.method}`)
  return injectedParts(method, account.credential, account.config ?? {})
}

const bodyOf = (body: string | Uint8Array | null): string | Buffer | null =>
  body === null || typeof body === "string" ? body : Buffer.from(body)
