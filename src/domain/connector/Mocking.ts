/**
 * Runs without providers: a connector's answer is taken from fixtures that came with the run, or from the action's own
 * mocks. Contract: runtime calls; the command line's `--mock` and `--record`.
 */
import { Schema } from "effect"
import { isObject, Json } from "../Json.js"
import type { ActionDefinition } from "./Action.js"
import { camelSlug } from "./Binding.js"

/** An answer that is known beforehand. `input`: only for calls whose arguments have these members with these values. */
export const Fixture = Schema.Struct({
  connector: Schema.String,
  action: Schema.String,
  input: Schema.optional(Json),
  output: Json
}).annotations({ identifier: "Fixture" })
export type Fixture = typeof Fixture.Type

/** `partial`: what has no mock is really called. `full`: nothing is. */
export const MockMode = Schema.Literal("none", "partial", "full")
export type MockMode = typeof MockMode.Type

export interface Mocking {
  readonly mode: "partial" | "full"
  readonly fixtures: ReadonlyArray<Fixture>
}

/** Whether the value has everything that the pattern has. */
const covers = (pattern: Json, value: Json | undefined): boolean => {
  if (isObject(pattern))
    return isObject(value) && Object.entries(pattern).every(([name, member]) => covers(member, value[name]))
  if (Array.isArray(pattern))
    return Array.isArray(value) && value.length === pattern.length && pattern.every((one, at) => covers(one, value[at]))
  return pattern === value
}

/** The answer to a call; `undefined` where none is known. The run's fixtures go before the action's mocks. */
export const findMock = (
  { fixtures }: Mocking,
  slug: string,
  action: ActionDefinition,
  args: Json
): { readonly output: Json } | undefined => {
  const own = fixtures.filter(
    (one) => (one.connector === slug || one.connector === camelSlug(slug)) && one.action === action.name
  )
  const known: ReadonlyArray<{ readonly input?: Json | undefined; readonly output: Json }> = [...own, ...action.mocks]
  return (
    known.find(({ input }) => input !== undefined && covers(input, args)) ??
    known.find(({ input }) => input === undefined)
  )
}

/** The answer that a step of a run's trace recorded, as a fixture; none where it failed or was too large for the trace. */
export const fixturesOf = (step: Json): ReadonlyArray<Fixture> => {
  if (!isObject(step) || step["status"] !== "completed") return []
  const { action, connector, input, output = null } = step
  if (typeof connector !== "string" || typeof action !== "string" || (isObject(output) && "$blob" in output)) return []
  const [args] = Array.isArray(input) ? input : []
  return [{ connector, action, ...(args === undefined ? {} : { input: args }), output }]
}
