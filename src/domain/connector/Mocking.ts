/**
 * Mocked runs: connector calls are answered from the run's fixtures or the action's mocks instead of the provider.
 * Contract: runtime calls; the command line's `--mock` and `--record`.
 */
import { Schema } from "effect"
import { isObject, Json } from "../Json.js"
import type { ActionDefinition } from "./Action.js"
import { camelSlug } from "./Binding.js"

/** The output of a call. `input`: the fixture is for calls whose arguments have these members and values. */
export const Fixture = Schema.Struct({
  connector: Schema.String,
  action: Schema.String,
  input: Schema.optional(Json),
  output: Json
}).annotations({ identifier: "Fixture" })
export type Fixture = typeof Fixture.Type

/** `partial`: calls without a mock go to the provider. `full`: they fail. */
export const MockMode = Schema.Literal("none", "partial", "full")
export type MockMode = typeof MockMode.Type

/** How a run's connector calls are mocked. */
export interface Mocking {
  readonly mode: "partial" | "full"
  readonly fixtures: ReadonlyArray<Fixture>
  /** No other call has an effect either: one that could is refused. */
  readonly isRehearsal?: true
}

/** Whether the value has every member and element of the pattern. */
const covers = (pattern: Json, value: Json | undefined): boolean => {
  if (isObject(pattern))
    return isObject(value) && Object.entries(pattern).every(([name, member]) => covers(member, value[name]))
  if (Array.isArray(pattern))
    return Array.isArray(value) && value.length === pattern.length && pattern.every((one, at) => covers(one, value[at]))
  return pattern === value
}

/** The mocked output of a call; `undefined` if there is none. Fixtures of the run precede mocks of the action. */
export const findMock = (
  { fixtures }: Mocking,
  slug: string,
  action: ActionDefinition,
  args: Json
): { readonly output: Json } | undefined => {
  const own = fixtures.filter(
    (one) => (one.connector === slug || one.connector === camelSlug(slug)) && one.action === action.name
  )
  const candidates: ReadonlyArray<{ readonly input?: Json | undefined; readonly output: Json }> = [
    ...own,
    ...action.mocks
  ]
  return (
    candidates.find(({ input }) => input !== undefined && covers(input, args)) ??
    candidates.find(({ input }) => input === undefined)
  )
}

/** The fixture of a recorded step; none if the step failed or its output was too large for the trace. */
export const fixturesOf = (step: Json): ReadonlyArray<Fixture> => {
  if (!isObject(step) || step["status"] !== "completed") return []
  const { action, connector, input, output = null } = step
  if (typeof connector !== "string" || typeof action !== "string" || (isObject(output) && "$blob" in output)) return []
  const [args] = Array.isArray(input) ? input : []
  return [{ connector, action, ...(args === undefined ? {} : { input: args }), output }]
}
